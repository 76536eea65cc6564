// Owns: reading a resource, or one of a template, and following its updates. Does not own: the calls (calls.ts), subscriptions (connection.ts).
import { lazy, Suspense } from "preact/compat";
import { useEffect } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { isApp } from "../../app-page.ts";
import { textIn } from "../../json.ts";
import { useParameter } from "../../page-state.ts";
import { Loading } from "../../ui/states.tsx";
import { call } from "./calls.ts";
import { CompletedField } from "./completed-field.tsx";
import { lists, reason, status, subscribe, subscriptions, unsubscribe } from "./connection.ts";
import { toast } from "../../ui/toasts.tsx";
import { Results } from "./results.tsx";
import { SaveCall } from "./save-call.tsx";

const PlaygroundApp = lazy(async () => (await import("./playground-app.tsx")).PlaygroundApp);

export function ResourcePanel({ uri }: { readonly uri: string }) {
  const template = lists.value.templates?.find((one) => one["uriTemplate"] === uri);
  const values = useSignal<Readonly<Record<string, string>>>({});
  const variables = template === undefined ? [] : variablesOf(uri);
  const full = template === undefined ? uri : expand(uri, values.value);
  const complete = variables.every((name) => (values.value[name] ?? "") !== "");
  const offer = template ?? lists.value.resources?.find((one) => one["uri"] === uri);
  const updates = subscriptions.value[full];
  useEffect(() => {
    // Read now, and at each update, so that what is visible is current.
    if (updates !== undefined) void call({ kind: "resource", name: full }, {});
  }, [updates, full]);
  const toggle = (): void =>
    void (updates === undefined ? subscribe(full) : unsubscribe(full)).catch((error: unknown) => toast(reason(error), "failed"));
  const ready = status.value === "open" && complete;
  const [asApp, setAsApp] = useParameter("app");
  return (
    <>
      <header>
        <h2>{textIn(offer, "title") ?? textIn(offer, "name") ?? "Resource"}</h2>
        <p class="row">
          <code>{full}</code>
          {textIn(offer, "mimeType") === undefined ? null : <span class="badge">{textIn(offer, "mimeType")}</span>}
        </p>
        <p class="prose">{textIn(offer, "description")}</p>
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void call({ kind: "resource", name: full }, {});
        }}
      >
        {variables.map((name) => (
          <CompletedField
            key={name}
            label={name}
            required
            reference={{ type: "ref/resource", uri }}
            name={name}
            values={values.value}
            onChange={(value) => (values.value = { ...values.value, [name]: value })}
          />
        ))}
        <div class="row">
          <button type="submit" class="primary" disabled={!ready}>
            Read
          </button>
          <button type="button" aria-pressed={updates !== undefined} disabled={!ready} onClick={toggle}>
            {updates === undefined ? "Subscribe" : "Unsubscribe"}
          </button>
          {isApp(offer) ? (
            <button type="button" aria-pressed={asApp !== ""} disabled={!ready} onClick={() => setAsApp(asApp === "" ? "open" : "")}>
              Open as an app
            </button>
          ) : null}
          {complete ? <SaveCall target={{ kind: "resource", name: full }} args={() => ({})} /> : null}
          {updates === undefined ? null : (
            <span key={updates} class="dim flash" role="status">
              {updates === 0 ? "Subscribed: updates are read at once." : `Updated ${updates === 1 ? "once" : `${updates} times`}.`}
            </span>
          )}
        </div>
      </form>
      {isApp(offer) && asApp !== "" && ready ? (
        <Suspense fallback={<Loading what="the app" />}>
          <PlaygroundApp key={full} name={textIn(offer, "name") ?? full} uri={full} />
        </Suspense>
      ) : null}
      <Results target={{ kind: "resource", name: full }} />
    </>
  );
}

const VARIABLE = /\{([+]?)([^}]+)\}/g;

const variablesOf = (template: string): readonly string[] => Array.from(template.matchAll(VARIABLE), (match) => match[2] ?? "");

/** `{name}` is encoded, `{+path}` may have slashes. */
const expand = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(VARIABLE, (whole, operator: string, name: string) => {
    const value = values[name] ?? "";
    return value === "" ? whole : operator === "+" ? encodeURI(value) : encodeURIComponent(value);
  });
