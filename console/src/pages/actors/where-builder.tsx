// Owns: the fields in which conditions on an index are entered. Does not own: what they mean (where.ts).
import { useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { TypedInput } from "../../ui/typed.tsx";
import { CONDITIONS, isCondition, rowsOf, type WhereRow, whereText } from "./where.ts";

/** The API takes at most so many. */
const MOST = 16;

export function WhereBuilder({
  fields,
  value,
  onChange,
}: {
  readonly fields: readonly string[];
  /** The conditions as JSON, or empty. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  // Rows that are not filled in yet are here only. Those of the address win when it changes from outside.
  const rows = useSignal<readonly WhereRow[]>(rowsOf(value));
  const sent = useRef(value);
  if (sent.current !== value) {
    sent.current = value;
    rows.value = rowsOf(value);
  }
  const set = (next: readonly WhereRow[]): void => {
    rows.value = next;
    sent.current = whereText(next);
    if (sent.current !== value) onChange(sent.current);
  };
  const change = (at: number, part: Partial<WhereRow>): void =>
    set(rows.value.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const unused = fields.filter((field) => !rows.value.some((row) => row.field === field));
  return (
    <fieldset class="where">
      <legend class="off-screen">Conditions on the index</legend>
      {rows.value.map(({ field, condition, value: typed }, at) => (
        <div key={field} class="where-row">
          <select aria-label="Field" value={field} onChange={({ currentTarget }) => change(at, { field: currentTarget.value })}>
            {[field, ...unused].map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
          <select
            aria-label={`Condition on ${field}`}
            value={condition}
            onChange={({ currentTarget }) => {
              if (isCondition(currentTarget.value)) change(at, { condition: currentTarget.value });
            }}
          >
            {Object.entries(CONDITIONS).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
          <TypedInput
            aria-label={`Value of ${field}`}
            placeholder={condition === "in" || condition === "between" ? "1, 2" : "value"}
            autocomplete="off"
            value={typed}
            onCommit={(next) => change(at, { value: next })}
          />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove the condition on ${field}`}
            onClick={() => set(rows.value.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        disabled={unused.length === 0 || rows.value.length >= MOST}
        onClick={() => set([...rows.value, { field: unused[0] ?? "", condition: "is", value: "" }])}
      >
        Add a condition
      </button>
    </fieldset>
  );
}
