// Owns: getting a prompt: its arguments, completed by the server. Does not own: the calls (calls.ts).
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { listIn, textIn } from "../../json.ts";
import { call } from "./calls.ts";
import { CompletedField } from "./completed-field.tsx";
import { status } from "./connection.ts";
import { Results } from "./results.tsx";
import { SaveCall } from "./save-call.tsx";

export function PromptPanel({
  name,
  prompt,
  given,
}: {
  readonly name: string;
  readonly prompt: JsonObject | undefined;
  readonly given: JsonObject;
}) {
  const values = useSignal<Readonly<Record<string, string>>>(
    Object.fromEntries(Object.entries(given).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)])),
  );
  const filled = (): JsonObject => Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ""));
  const run = (): void => void call({ kind: "prompt", name }, filled());
  return (
    <>
      <header>
        <h2>{textIn(prompt, "title") ?? name}</h2>
        {textIn(prompt, "title") === undefined ? null : (
          <p>
            <code>{name}</code>
          </p>
        )}
        <p class="prose">{textIn(prompt, "description")}</p>
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        {listIn(prompt, "arguments").map((argument) => {
          const field = textIn(argument, "name") ?? "";
          return (
            <CompletedField
              key={field}
              label={textIn(argument, "title") ?? field}
              what={textIn(argument, "description")}
              required={argument["required"] === true}
              reference={{ type: "ref/prompt", name }}
              name={field}
              values={values.value}
              onChange={(value) => (values.value = { ...values.value, [field]: value })}
            />
          );
        })}
        <div class="row">
          <button type="submit" class="primary" disabled={status.value !== "open"}>
            Get
          </button>
          <SaveCall target={{ kind: "prompt", name }} args={filled} />
        </div>
      </form>
      <Results target={{ kind: "prompt", name }} />
    </>
  );
}
