// Owns: a text field whose values the server completes while the user types. Does not own: asking the server (connection.ts).
import { useEffect, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { complete } from "./connection.ts";

const PAUSE_MS = 150;

export function CompletedField({
  label,
  what,
  required,
  reference,
  name,
  values,
  onChange,
}: {
  readonly label: string;
  readonly what?: string | undefined;
  readonly required: boolean;
  /** The prompt or template that the argument is of. */
  readonly reference: JsonObject;
  readonly name: string;
  /** Of all arguments: the server may take the others into account. */
  readonly values: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}) {
  const id = useId();
  const choices = useSignal<readonly string[]>([]);
  const value = values[name] ?? "";
  const all = JSON.stringify([reference, values]);
  useEffect(() => {
    let stale = false;
    const timer = setTimeout(() => {
      const { [name]: _, ...others } = values;
      void complete(reference, name, value, others).then((found) => {
        if (!stale) choices.value = found;
      });
    }, PAUSE_MS);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- `all` is the text of the others
  }, [all]);
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required ? <span class="dim"> (required)</span> : null}
      </label>
      <input
        id={id}
        list={`${id}-choices`}
        autocomplete="off"
        required={required}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={`${id}-choices`}>
        {choices.value.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </datalist>
      {what === undefined ? null : <small class="dim">{what}</small>}
    </div>
  );
}
