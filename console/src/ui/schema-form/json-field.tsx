// Owns: a field for any value, as JSON.
import { useContext, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json } from "../../../../src/core/contract/index.ts";
import { FormContext } from "./context.ts";

/** What is no JSON yet is not passed on. */
export function JsonField({
  label,
  hint,
  path,
  value,
  onChange,
  rows,
}: {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly path: string;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
  readonly rows: number;
}) {
  const { mistakes } = useContext(FormContext);
  const id = useId();
  const text = useSignal(value === undefined ? "" : JSON.stringify(value, undefined, 2));
  const mistake =
    jsonMistake(text.value) ?? (path === "" ? [...mistakes].map(([at, what]) => `${at}: ${what}`).join(" ") : mistakes.get(path));
  return (
    <div class="form-field">
      <label htmlFor={id} class="mono">
        {label}
      </label>
      <textarea
        id={id}
        class="mono"
        rows={rows}
        spellcheck={false}
        value={text.value}
        aria-invalid={mistake !== undefined && mistake !== ""}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
          if (text.value.trim() === "") onChange(undefined);
          else if (jsonMistake(text.value) === undefined) onChange(JSON.parse(text.value));
        }}
      />
      {hint === undefined || hint === "" ? null : <small class="dim">{hint}</small>}
      {mistake === undefined || mistake === "" ? null : <small class="mistake">{mistake}</small>}
    </div>
  );
}

function jsonMistake(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? `No JSON yet: ${error.message}` : "No JSON yet.";
  }
}
