// Owns: the fields of single values: constants, choices, texts, numbers, yes or no. Does not own: lists and objects (fields.tsx), any
// other value (json-field.tsx).
import type { ComponentChildren } from "preact";
import { useContext, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { isList } from "../../json.ts";
import { FormContext, hintOf, type ResolvedProps } from "./context.ts";
import { type Option, optionsOf } from "./schema.ts";

/** The parts around one control: its name, what it is for, and what is wrong with it. */
function Labelled({
  props: { schema, name, path, required },
  id,
  children,
}: {
  readonly props: ResolvedProps;
  readonly id: string;
  readonly children: ComponentChildren;
}) {
  const { mistakes } = useContext(FormContext);
  const hint = hintOf(schema);
  const mistake = mistakes.get(path);
  return (
    <div class="form-field">
      <label htmlFor={id}>
        <span class="mono">{name}</span> {required && !isItem(name) ? <small class="dim">required</small> : null}
      </label>
      {children}
      {hint === undefined ? null : (
        <small class="dim" id={`${id}-hint`}>
          {hint}
        </small>
      )}
      {mistake === undefined ? null : (
        <small class="mistake" id={`${id}-mistake`}>
          {mistake}
        </small>
      )}
    </div>
  );
}

const isItem = (name: string): boolean => name.endsWith("]");

function useControl({ schema, path }: ResolvedProps) {
  const { mistakes } = useContext(FormContext);
  const id = useId();
  const wrong = mistakes.has(path);
  const described = [hintOf(schema) === undefined ? "" : `${id}-hint`, wrong ? `${id}-mistake` : ""].filter((one) => one !== "").join(" ");
  return { id, "aria-invalid": wrong, ...(described === "" ? {} : { "aria-describedby": described }) };
}

export function Constant(props: ResolvedProps) {
  const control = useControl(props);
  return (
    <Labelled props={props} id={control.id}>
      <output {...control} class="mono">
        {JSON.stringify(props.schema["const"])}
      </output>
    </Labelled>
  );
}

export function Choice(props: ResolvedProps) {
  const { schema, value, onChange } = props;
  const control = useControl(props);
  const options: readonly Option[] = optionsOf(schema) ?? [];
  const at = options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(value));
  return (
    <Labelled props={props} id={control.id}>
      <select
        {...control}
        value={at === -1 ? "" : String(at)}
        onChange={({ currentTarget }) => onChange(currentTarget.value === "" ? undefined : options[Number(currentTarget.value)]?.value)}
      >
        <option value="">{options.length === 0 ? "nothing is allowed now" : "choose …"}</option>
        {options.map(({ label }, index) => (
          <option key={label} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

const INPUT_TYPES: Readonly<Record<string, string>> = { email: "email", uri: "url", date: "date" };

export function Text(props: ResolvedProps) {
  const { schema, value, onChange } = props;
  const control = useControl(props);
  const text = typeof value === "string" ? value : "";
  const { maxLength, format, examples } = schema;
  const set = (next: string): void => onChange(next === "" ? undefined : next);
  const isLong = text.includes("\n") || text.length > 80 || (typeof maxLength === "number" && maxLength > 200) || format === "multiline";
  const example = isList(examples) && typeof examples[0] === "string" ? examples[0] : "";
  return (
    <Labelled props={props} id={control.id}>
      {isLong ? (
        <textarea {...control} rows={4} value={text} onInput={({ currentTarget }) => set(currentTarget.value)} />
      ) : (
        <input
          {...control}
          type={typeof format === "string" ? (INPUT_TYPES[format] ?? "text") : "text"}
          value={text}
          placeholder={example}
          autocomplete="off"
          onInput={({ currentTarget }) => set(currentTarget.value)}
        />
      )}
    </Labelled>
  );
}

export function Numeric(props: ResolvedProps) {
  const { schema, value, onChange } = props;
  const control = useControl(props);
  // What is being typed: `1.` is no number yet, and must not be replaced.
  const typed = useSignal("");
  const text = parsed(typed.value) === value ? typed.value : typeof value === "number" ? String(value) : "";
  const bound = (name: string): object => (typeof schema[name] === "number" ? { [name === "minimum" ? "min" : "max"]: schema[name] } : {});
  return (
    <Labelled props={props} id={control.id}>
      <input
        {...control}
        {...bound("minimum")}
        {...bound("maximum")}
        type="number"
        step={schema["type"] === "integer" ? 1 : "any"}
        value={text}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
          onChange(parsed(currentTarget.value));
        }}
      />
    </Labelled>
  );
}

const parsed = (text: string): number | undefined => (text.trim() === "" || !Number.isFinite(Number(text)) ? undefined : Number(text));

export function YesNo(props: ResolvedProps) {
  const { value, onChange, required } = props;
  const control = useControl(props);
  return (
    <Labelled props={props} id={control.id}>
      <select
        {...control}
        value={typeof value === "boolean" ? String(value) : ""}
        onChange={({ currentTarget }) => onChange(currentTarget.value === "" ? undefined : currentTarget.value === "true")}
      >
        {required ? null : <option value="">not given</option>}
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    </Labelled>
  );
}
