// Owns: one offer: why it is on or off, a call of it through a form, its definition. Does not own: what a call resulted in
// (call-result.tsx).
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import type { CallInput, CallOutcome, OfferShape } from "../../../../src/bridges/console/shapes.ts";
import { about, can, whyNot } from "../../about.ts";
import { actorPath, type ApiError, asApiError, post } from "../../api.ts";
import { isList, isObject } from "../../json-paths.ts";
import { useParameter } from "../../page-state.ts";
import { JsonTree } from "../../ui/json-tree.tsx";
import { check, firstValue, NO_MISTAKES, SchemaForm } from "../../ui/schema-form.tsx";
import { Snippets } from "../../ui/snippets.tsx";
import { ErrorNote } from "../../ui/states.tsx";
import { type ViewerState, viewerShape } from "../../viewer.ts";
import { QuestionDialog } from "../playground/question-dialog.tsx";
import { askUser, dropQuestions } from "../playground/questions.ts";
import { CallResult } from "./call-result.tsx";
import type { Offering } from "./offers.tsx";
import { definitionIn } from "./definition.ts";
import { describeOff } from "./why-off.ts";

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
  const args = useSignal<JsonObject>(objectOf(firstValue(schema, schema)));
  const mistakes = useSignal(NO_MISTAKES);
  const running = useSignal(false);
  const outcome = useSignal<{ readonly result?: CallOutcome; readonly error?: ApiError } | undefined>(undefined);
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
  const [caller, setCaller] = useParameter("by");
  const asViewer = can("act-as") && caller !== "operator";
  const who = viewer.principal === "" ? "somebody who is not signed in" : viewer.principal;
  const input: CallInput = {
    offer: offer.ref,
    arguments: args.value,
    ...(asViewer ? { as: viewerShape(viewer) } : {}),
    ...(actor.seq === 0 ? { begin: true } : {}),
  };

  const change = (next: JsonObject): void => {
    args.value = next;
    // What was wrong is checked again at once; what is not filled in yet is not called wrong before it is sent.
    if (mistakes.value.size > 0) mistakes.value = check(schema, next);
  };
  const call = async (): Promise<void> => {
    mistakes.value = check(schema, args.value);
    if (mistakes.value.size > 0 || running.value) return;
    running.value = true;
    try {
      outcome.value = { result: await callWithAnswers(actor.id, input) };
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
      </header>
      {typeof definition["description"] === "string" ? <p>{definition["description"]}</p> : null}
      {on ? null : (
        <div class="why" role="note">
          <strong>
            Off for {who}: {reason ?? "no reason given."}
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
        aria-label={`Call ${name}`}
        onSubmit={(event) => {
          event.preventDefault();
          void call();
        }}
        ref={form}
      >
        <SchemaForm
          schema={schema}
          value={args.value}
          onChange={change}
          mistakes={mistakes.value}
          {...(choices === undefined ? {} : { choices })}
        />
        <div class="row call-bar">
          <button type="submit" class="primary" disabled={running.value}>
            {on ? "Call" : "Call anyway"}
          </button>
          <label class="row">
            <span class="dim">as</span>
            <select
              value={asViewer ? "viewer" : "operator"}
              onChange={({ currentTarget }) => setCaller(currentTarget.value === "operator" ? "operator" : "")}
            >
              {can("act-as") ? <option value="viewer">{who}</option> : null}
              <option value="operator">operator</option>
            </select>
          </label>
          <span class="dim">{can("act-as") ? "Ctrl+Enter" : whyNot("act-as")}</span>
        </div>
      </form>
      <QuestionDialog />
      <div ref={result} aria-live="polite">
        {outcome.value?.error === undefined ? null : <ErrorNote error={outcome.value.error} />}
        {outcome.value?.result === undefined ? null : <CallResult outcome={outcome.value.result} />}
      </div>
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

/** A tool may ask several times. */
const MOST_ROUNDS = 10;

/** Calls, and calls again with what the user answers, as long as the reply is questions. */
async function callWithAnswers(id: string, input: CallInput): Promise<CallOutcome> {
  let answers: JsonObject = {};
  for (let round = 1; ; round += 1) {
    const result = await post<CallOutcome>(`${actorPath(id)}/call`, { ...input, can: ["elicitation"], answers } satisfies CallInput);
    const needs = isObject(result.reply) ? result.reply["needs"] : undefined;
    if (!isObject(needs) || round > MOST_ROUNDS) return result;
    const given = await Promise.all(
      Object.entries(needs).map(async ([key, request]): Promise<readonly [string, JsonObject]> => {
        const { method, params } = objectOf(request);
        return [key, await askUser(textOf(method), objectOf(params))];
      }),
    );
    answers = { ...answers, ...Object.fromEntries(given) };
  }
}

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
