// Owns: calling a tool: its arguments, how it is called, and the calls so far. Does not own: the calls (calls.ts).
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { objectIn, textIn } from "../../mcp/wire.ts";
import { JsonTree } from "../../ui/json-tree.tsx";
import { ArgumentsField, useArguments } from "./arguments-field.tsx";
import { call } from "./calls.ts";
import { client, status } from "./connection.ts";
import { Results } from "./results.tsx";
import { SaveCall } from "./save-call.tsx";

export function ToolPanel({
  name,
  tool,
  given,
}: {
  readonly name: string;
  readonly tool: JsonObject | undefined;
  readonly given: JsonObject;
}) {
  const schema = objectIn(tool, "inputSchema");
  const fields = useArguments(schema, given);
  const asTask = useSignal(false);
  const key = useSignal("");
  const annotations = objectIn(tool, "annotations");
  const taskSupport = textIn(objectIn(tool, "execution"), "taskSupport");
  const run = (): void => {
    const args = fields.value();
    if (args !== undefined) void call({ kind: "tool", name }, args, { asTask: asTask.value, key: key.value });
  };
  const hints = Object.entries(annotations).filter(([, on]) => on === true);
  return (
    <>
      <header>
        <h2>{textIn(tool, "title") ?? name}</h2>
        <p class="row">
          {textIn(tool, "title") === undefined ? null : <code>{name}</code>}
          {hints.map(([hint]) => (
            <span key={hint} class={`badge ${hint === "destructiveHint" ? "warning" : ""}`}>
              {HINTS[hint] ?? hint}
            </span>
          ))}
        </p>
        {tool === undefined && status.value === "open" ? (
          <p class="note">This tool is not in the list now: a call is refused, with the reason if the author gave one.</p>
        ) : (
          <p class="prose">{textIn(tool, "description")}</p>
        )}
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <ArgumentsField fields={fields} schema={schema} onSubmit={run} />
        <details>
          <summary>How it is called</summary>
          <div class="options">
            <label class="field">
              <span>Idempotency key: a second call with it gets the first reply</span>
              <input value={key.value} maxLength={256} onInput={(event) => (key.value = event.currentTarget.value)} />
            </label>
            {client.value?.era === "legacy" ? (
              <label class="check">
                <input type="checkbox" checked={asTask.value} onChange={(event) => (asTask.value = event.currentTarget.checked)} />
                As a task{taskSupport === undefined ? " (this tool does not offer it)" : ""}
              </label>
            ) : (
              <p class="dim small">A call that takes long becomes a task by itself, if its tool can be one.</p>
            )}
          </div>
        </details>
        <div class="row">
          <button type="submit" class="primary" disabled={status.value !== "open"}>
            Call
          </button>
          <SaveCall target={{ kind: "tool", name }} args={fields.value} />
          <span class="grow" />
          <kbd>Ctrl</kbd>
          <kbd>Enter</kbd>
        </div>
      </form>
      <Results target={{ kind: "tool", name }} />
      {tool === undefined ? null : (
        <details>
          <summary>Definition, as the server lists it</summary>
          <JsonTree label={`Definition of ${name}`} value={tool} />
        </details>
      )}
    </>
  );
}

const HINTS: Readonly<Record<string, string>> = {
  readOnlyHint: "only reads",
  destructiveHint: "may destroy",
  idempotentHint: "may be repeated",
  openWorldHint: "reaches outside",
};
