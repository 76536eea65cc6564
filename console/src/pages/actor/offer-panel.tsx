// Owns: one offer: why it is on or off, a call of it through a form, its definition. Does not own: what a call resulted in
// (call-result.tsx).
import { lazy, Suspense } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import type { CallInput, CallOutcome, OfferShape, ViewerShape } from "../../../../src/bridges/console/shapes.ts";
import { about, can, whyNot } from "../../about.ts";
import { type ApiError, asApiError } from "../../api.ts";
import { appUriOf } from "../../app-page.ts";
import { isList, isObject } from "../../json.ts";
import type { AppCall } from "../../mcp/app-host.ts";
import { dropQuestions } from "../../questions.ts";
import { ArgumentsField, useArguments } from "../../ui/arguments-field.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Prose } from "../../ui/prose.tsx";
import { QuestionDialog } from "../../ui/question-dialog.tsx";
import { Snippets } from "../../ui/snippets.tsx";
import { ErrorNote, Loading } from "../../ui/states.tsx";
import { principalName } from "../../ui/who.tsx";
import type { ViewerState } from "../../viewer.ts";
import { callWithAnswers } from "./call.ts";
import { CallerSelect, useCaller } from "./caller.tsx";
import { CallResult } from "./call-result.tsx";
import type { Offering } from "./offers.tsx";
import { definitionIn } from "./definition.ts";
import { describeOff } from "./why-off.ts";

const ActorApp = lazy(async () => (await import("./actor-app.tsx")).ActorApp);

export function OfferPanel({
  actor,
  offer,
  viewer,
  reload,
}: {
  readonly actor: Offering;
  readonly offer: OfferShape;
  readonly viewer: ViewerState;
  readonly reload: () => void;
}) {
  const { name, on, reason, definition, choices, scopes } = offer;
  const schema = argumentsOf(offer);
  const fields = useArguments(schema, {});
  const running = useSignal(false);
  const outcome = useSignal<{ readonly result?: CallOutcome; readonly error?: ApiError } | undefined>(undefined);
  /** What the app of the tool shows. Each call has a frame of its own. */
  const called = useSignal<{ readonly n: number; readonly as: ViewerShape | undefined; readonly call: AppCall } | undefined>(undefined);
  const result = useRef<HTMLDivElement>(null);
  const form = useRef<HTMLFormElement>(null);
  // Enter alone is a new line in a text area.
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
    };
    const element = form.current;
    element?.addEventListener("keydown", press);
    return () => element?.removeEventListener("keydown", press);
  }, []);
  useEffect(() => dropQuestions, []);
  const as = useCaller(viewer);
  const input: CallInput = {
    offer: offer.ref,
    arguments: fields.current.value,
    ...(as === undefined ? {} : { as }),
    ...(actor.seq === 0 ? { begin: true } : {}),
  };
  const app = appUriOf(definition);

  const send = async (): Promise<void> => {
    const args = fields.checked();
    if (args === undefined || running.value) return;
    running.value = true;
    try {
      const answer = await callWithAnswers(actor.id, app === undefined ? input : { ...input, withResult: true });
      outcome.value = { result: answer };
      const call = {
        tool: { name, ...definition },
        arguments: args,
        ...(answer.result === undefined ? {} : { result: answer.result }),
      };
      called.value = { n: (called.value?.n ?? 0) + 1, as, call };
      reload();
    } catch (error) {
      outcome.value = { error: asApiError(error) };
    }
    running.value = false;
    requestAnimationFrame(() => result.current?.scrollIntoView({ block: "nearest" }));
  };

  return (
    <section class="offer-panel" aria-labelledby="offer-title">
      <header class="row">
        <h2 id="offer-title" class="mono">
          {name}
        </h2>
        <span class={`badge ${on ? "good" : "dim"}`}>{on ? "on" : "off"}</span>
        {offer.readOnly ? <span class="badge">reads only</span> : null}
        {(scopes ?? []).map((scope) => (
          <span key={scope} class="badge">
            scope {scope}
          </span>
        ))}
        {(offer.roles ?? []).map((role) => (
          <span key={role} class="badge">
            role {role}
          </span>
        ))}
      </header>
      {typeof definition["description"] === "string" ? <p>{definition["description"]}</p> : null}
      {on ? null : (
        <div class="why" role="note">
          <strong>
            Off for {principalName(viewer.principal)}: {reason ?? "no reason given."}
          </strong>
          <span>{describeOff(offer)}</span>
        </div>
      )}
      {choices === undefined ? null : (
        <p class="dim">
          {Object.entries(choices).map(([argument, values]) => (
            <span key={argument}>
              <code>{argument}</code> may be {values.length === 0 ? "nothing now" : values.slice(0, 12).join(", ")}
              {values.length > 12 ? ` and ${values.length - 12} more` : ""}.{" "}
            </span>
          ))}
        </p>
      )}
      <form
        noValidate
        aria-label={`${VERBS[offer.list]} ${name}`}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
        ref={form}
      >
        <ArgumentsField fields={fields} schema={schema} choices={choices} />
        <div class="row call-bar">
          <button type="submit" class="primary" disabled={running.value}>
            {VERBS[offer.list]}
            {on ? "" : " anyway"}
            {as === undefined ? " as operator" : ""}
          </button>
          <CallerSelect viewer={viewer} />
          <span class="dim">{can("act-as") ? "Ctrl+Enter" : <Prose text={whyNot("act-as")} />}</span>
        </div>
      </form>
      <QuestionDialog />
      <div ref={result} aria-live="polite">
        {outcome.value?.error === undefined ? null : <ErrorNote error={outcome.value.error} />}
        {outcome.value?.result === undefined ? null : <CallResult outcome={outcome.value.result} />}
      </div>
      {app === undefined || called.value === undefined ? null : (
        <Suspense fallback={<Loading what="the app" />}>
          <ActorApp
            key={called.value.n}
            actor={actor}
            name={name}
            uri={app}
            as={called.value.as}
            viewer={viewer}
            call={called.value.call}
            reload={reload}
          />
        </Suspense>
      )}
      <details>
        <summary>The same call with curl, TypeScript or the command line</summary>
        {about.value === undefined ? null : <Snippets call={{ actor: actor.id, offer, input }} about={about.value} />}
      </details>
      <details>
        <summary>Its definition in {viewer.revision}</summary>
        <JsonTree value={definitionIn(viewer.revision, offer)} label="the definition" />
      </details>
    </section>
  );
}

/** What is done with an item of each list. */
const VERBS: Readonly<Record<OfferShape["list"], string>> = { tools: "Call", resources: "Read", prompts: "Get" };

const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** What a call takes, as a JSON Schema. Of a prompt texts, of a resource the places of its template. */
function argumentsOf({ list, definition }: OfferShape): JsonObject {
  if (list === "tools") return objectOf(definition["inputSchema"]);
  if (list === "prompts") {
    const { arguments: given } = definition;
    const all = (isList(given) ? given : []).filter(isObject);
    return textsSchema(
      all.map(({ name, description, required }) => ({ name: textOf(name), description: textOf(description), required: required === true })),
    );
  }
  const places = textOf(definition["uriTemplate"]).matchAll(/\{[+?&#/;.]?([^}]+)\}/g);
  return textsSchema([...places].flatMap(([, names = ""]) => names.split(",")).map((name) => ({ name, description: "", required: true })));
}

const textOf = (value: Json | undefined): string => (typeof value === "string" ? value : "");

function textsSchema(all: readonly { readonly name: string; readonly description: string; readonly required: boolean }[]): JsonObject {
  return {
    type: "object",
    properties: Object.fromEntries(
      all.map(({ name, description }) => [name, { type: "string", ...(description === "" ? {} : { description }) }]),
    ),
    required: all.filter(({ required }) => required).map(({ name }) => name),
  };
}
