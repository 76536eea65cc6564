// Owns: choosing one of a few values, or all of them.
import "./lists.css";

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
  <label>
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
