// Owns: the fields above a list that choose its rows: a text, one of a few values. Does not own: which rows fit.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { TypedInput } from "./typed.tsx";
import "./lists.css";

export const Filters = ({ children }: { readonly children: ComponentChildren }) => <div class="filters">{children}</div>;

export function TextFilter({
  label = "Text",
  value,
  placeholder,
  onChange,
  delayed = false,
}: {
  readonly label?: string;
  readonly value: string;
  readonly placeholder: string;
  readonly onChange: (value: string) => void;
  /** A moment after the last key, for what the server filters. */
  readonly delayed?: boolean;
}) {
  const id = useId();
  const field = { id, type: "search", value, placeholder } as const;
  return (
    <label class="grow" htmlFor={id}>
      <span>{label}</span>
      {delayed ? (
        <TypedInput {...field} onCommit={onChange} />
      ) : (
        <input {...field} onInput={(event) => onChange(event.currentTarget.value)} />
      )}
    </label>
  );
}

export const Choice = ({
  label,
  value,
  values,
  onChange,
  all = "All",
  labelOf,
}: {
  readonly label: string;
  /** Empty: all. */
  readonly value: string;
  readonly values: readonly string[];
  readonly onChange: (value: string) => void;
  readonly all?: string;
  /** A value for people. */
  readonly labelOf?: (value: string) => string;
}) => (
  <label class={value === "" ? "" : "chosen"}>
    <span>{label}</span>
    <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      <option value="">{all}</option>
      {/* One that a link names may have no rows now. */}
      {[...new Set(value === "" ? values : [...values, value])].map((one) => (
        <option key={one} value={one}>
          {labelOf?.(one) ?? one}
        </option>
      ))}
    </select>
  </label>
);
