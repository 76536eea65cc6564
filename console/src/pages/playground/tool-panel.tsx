// Owns: calling a tool: its arguments, how it is called, and the calls so far. Does not own: the calls (calls.ts).
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { objectIn, textIn } from "../../json.ts";
import { isMac } from "../../shortcuts.ts";
import { ArgumentsField, useArguments } from "../../ui/arguments-field.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
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
  const unchecked = useSignal(false);
  const key = useSignal("");
  const annotations = objectIn(tool, "annotations");
  const taskSupport = textIn(objectIn(tool, "execution"), "taskSupport");
  const run = (): void => {
    const args = unchecked.value ? fields.current.value : fields.checked();
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
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a shortcut of the fields in it */}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          run();
        }}
        noValidate
      >
        <ArgumentsField fields={fields} schema={schema} />
        <details>
          <summary>How it is called</summary>
          <div class="options">
            <label class="field">
              <span>Idempotency key: a second call with it gets the first reply</span>
              <input value={key.value} maxLength={256} onInput={(event) => (key.value = event.currentTarget.value)} />
            </label>
            <label class="check">
              <input type="checkbox" checked={unchecked.value} onChange={(event) => (unchecked.value = event.currentTarget.checked)} />
              Send also what does not fit the schema, to see what the server says
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
          <SaveCall target={{ kind: "tool", name }} args={() => fields.current.value} />
          <span class="grow" />
          <kbd class="wide">{isMac ? "⌘" : "Ctrl"}</kbd>
          <kbd class="wide">Enter</kbd>
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
