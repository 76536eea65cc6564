// Owns: the fields of a form, by kind. Does not own: what a schema means (schema.ts), or the form around them (schema-form.tsx).
import { type ComponentChildren, createContext } from "preact";
import { useContext, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import { pathOf } from "../../json-paths.ts";
import { isList, isObject } from "../../json.ts";
import { type Mistakes, NO_MISTAKES } from "./check.ts";
import { emptyValue, firstValue, isRequired, kindOf, type Option, optionsOf, resolve, variantOf, variantsOf } from "./schema.ts";

export const FormContext = createContext<{
  readonly root: JsonObject;
  readonly mistakes: Mistakes;
  readonly choices: Readonly<Record<string, readonly string[]>>;
}>({ root: {}, mistakes: NO_MISTAKES, choices: {} });

interface FieldProps {
  readonly schema: Json | undefined;
  readonly path: string;
  readonly name: string;
  readonly value: Json | undefined;
  /** Undefined: the member is left out. */
  readonly onChange: (value: Json | undefined) => void;
  readonly required: boolean;
  readonly depth: number;
  /** It is drawn inside its own group already. */
  readonly bare?: boolean;
}

interface OwnProps extends Omit<FieldProps, "schema"> {
  readonly schema: JsonObject;
}

export function Field({ schema: given, ...rest }: FieldProps) {
  const { root, choices } = useContext(FormContext);
  const resolved = resolve(given, root);
  const allowed = rest.depth === 1 && Object.hasOwn(choices, rest.name) ? choices[rest.name] : undefined;
  const schema = allowed === undefined ? resolved : { ...resolved, enum: allowed };
  switch (kindOf(schema, rest.depth)) {
    case "constant":
      return <Constant schema={schema} {...rest} />;
    case "choice":
      return <Choice schema={schema} {...rest} />;
    case "text":
      return <Text schema={schema} {...rest} />;
    case "number":
      return <Numeric schema={schema} {...rest} />;
    case "boolean":
      return <YesNo schema={schema} {...rest} />;
    case "list":
      return <List schema={schema} {...rest} />;
    case "object":
      return <Members schema={schema} {...rest} />;
    case "variants":
      return <Variants schema={schema} {...rest} />;
    default:
      return <JsonField label={rest.name} hint={hintOf(schema)} {...rest} rows={3} />;
  }
}

const hintOf = (schema: JsonObject): string | undefined => (typeof schema["description"] === "string" ? schema["description"] : undefined);

/** The parts around one control: its name, what it is for, and what is wrong with it. */
function Labelled({
  props: { schema, name, path, required },
  id,
  children,
}: {
  readonly props: OwnProps;
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

function useControl({ schema, path }: OwnProps) {
  const { mistakes } = useContext(FormContext);
  const id = useId();
  const wrong = mistakes.has(path);
  const described = [hintOf(schema) === undefined ? "" : `${id}-hint`, wrong ? `${id}-mistake` : ""].filter((one) => one !== "").join(" ");
  return { id, "aria-invalid": wrong, ...(described === "" ? {} : { "aria-describedby": described }) };
}

function Constant(props: OwnProps) {
  const control = useControl(props);
  return (
    <Labelled props={props} id={control.id}>
      <output {...control} class="mono">
        {JSON.stringify(props.schema["const"])}
      </output>
    </Labelled>
  );
}

function Choice(props: OwnProps) {
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

function Text(props: OwnProps) {
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

function Numeric(props: OwnProps) {
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

function YesNo(props: OwnProps) {
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

function Group({
  props,
  children,
  remove,
}: {
  readonly props: OwnProps;
  readonly children: ComponentChildren;
  readonly remove?: () => void;
}) {
  const { mistakes } = useContext(FormContext);
  const { name, path, schema, required } = props;
  const mistake = path === "" ? undefined : mistakes.get(path);
  const hint = hintOf(schema);
  if (path === "" || props.bare === true) return <>{children}</>;
  return (
    <fieldset>
      <legend>
        <span class="mono">{name}</span> {required ? <small class="dim">required</small> : null}
        {remove === undefined ? null : (
          <button type="button" class="small quiet" onClick={remove} aria-label={`Leave out ${name}`}>
            Leave out
          </button>
        )}
      </legend>
      {hint === undefined ? null : <small class="dim">{hint}</small>}
      {children}
      {mistake === undefined ? null : <small class="mistake">{mistake}</small>}
    </fieldset>
  );
}

/** A button in place of an optional group that is not given. */
const Give = ({ name, give }: { readonly name: string; readonly give: () => void }) => (
  <div class="form-field">
    <button type="button" class="small give" onClick={give}>
      + <span class="mono">{name}</span>
    </button>
  </div>
);

function List(props: OwnProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  if (value === undefined && !required) return <Give name={name} give={() => onChange([])} />;
  const items = isList(value) ? value : [];
  const { prefixItems: fixed, maxItems } = schema;
  const schemaAt = (at: number): Json | undefined => (isList(fixed) ? fixed[at] : undefined) ?? schema["items"];
  const isFull = (typeof maxItems === "number" && items.length >= maxItems) || (!isObject(schemaAt(items.length)) && isList(fixed));
  return (
    <Group props={props} {...(required ? {} : { remove: () => onChange(undefined) })}>
      {items.map((item, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- an item has no other identity
        <div key={at} class="item">
          <Field
            schema={schemaAt(at)}
            path={pathOf(path, at)}
            name={`${name}[${at}]`}
            value={item}
            onChange={(next) => onChange(items.map((old, index) => (index === at ? (next ?? emptyValue(schemaAt(at), root)) : old)))}
            required
            depth={depth + 1}
          />
          <button
            type="button"
            class="small quiet"
            aria-label={`Remove ${name}[${at}]`}
            onClick={() => onChange(items.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        disabled={isFull}
        onClick={() =>
          onChange([...items, firstValue(schemaAt(items.length), root, depth + 1) ?? emptyValue(schemaAt(items.length), root)])
        }
      >
        Add an item
      </button>
    </Group>
  );
}

function Members(props: OwnProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  const added = useSignal("");
  if (value === undefined && !required) return <Give name={name} give={() => onChange(firstValue({ ...schema }, root, depth) ?? {})} />;
  const members = isObject(value) ? value : {};
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const extra = schema["additionalProperties"];
  const set = (key: string, next: Json | undefined): void => {
    const { [key]: _, ...others } = members;
    onChange(next === undefined ? others : { ...members, [key]: next });
  };
  const isExtensible = isObject(extra) || (extra !== false && Object.keys(properties).length === 0);
  const extraKeys = Object.keys(members).filter((key) => !Object.hasOwn(properties, key));
  return (
    <Group props={props} {...(required ? {} : { remove: () => onChange(undefined) })}>
      {Object.entries(properties).map(([key, member]) => (
        <Field
          key={key}
          schema={member}
          path={pathOf(path, key)}
          name={key}
          value={Object.hasOwn(members, key) ? members[key] : undefined}
          onChange={(next) => set(key, next)}
          required={isRequired(schema, key)}
          depth={depth + 1}
        />
      ))}
      {extraKeys.map((key) => (
        <div key={key} class="item">
          <Field
            schema={isObject(extra) ? extra : {}}
            path={pathOf(path, key)}
            name={key}
            value={members[key]}
            onChange={(next) => set(key, next ?? emptyValue(extra, root))}
            required
            depth={depth + 1}
          />
          <button type="button" class="small quiet" aria-label={`Remove ${key}`} onClick={() => set(key, undefined)}>
            Remove
          </button>
        </div>
      ))}
      {isExtensible ? (
        <div class="row">
          <input
            aria-label={`Name of a new member of ${name === "" ? "the arguments" : name}`}
            placeholder="name"
            value={added.value}
            onInput={({ currentTarget }) => (added.value = currentTarget.value)}
          />
          <button
            type="button"
            class="small"
            disabled={added.value === "" || Object.hasOwn(members, added.value)}
            onClick={() => {
              set(added.value, firstValue(isObject(extra) ? extra : {}, root, depth + 1) ?? emptyValue(extra, root));
              added.value = "";
            }}
          >
            Add a member
          </button>
        </div>
      ) : null}
    </Group>
  );
}

function Variants(props: OwnProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  const chosen = useSignal<number | undefined>(undefined);
  const variants = variantsOf(schema, root);
  const id = useId();
  if (value === undefined && !required && chosen.value === undefined)
    return (
      <Give
        name={name}
        give={() => {
          chosen.value = 0;
          onChange(firstValue(variants[0]?.schema, root, depth + 1));
        }}
      />
    );
  const at = chosen.value ?? variantOf(variants, value);
  const variant = variants[at];
  const remove = (): void => {
    chosen.value = undefined;
    onChange(undefined);
  };
  return (
    <Group props={props} {...(required ? {} : { remove })}>
      <div class="form-field">
        <label htmlFor={id}>Variant</label>
        <select
          id={id}
          value={String(at)}
          onChange={({ currentTarget }) => {
            const next = Number(currentTarget.value);
            chosen.value = next;
            const first = variants[next]?.schema;
            onChange(first?.["type"] === "null" ? null : firstValue(first, root, depth + 1));
          }}
        >
          {variants.map(({ label }, index) => (
            <option key={label} value={String(index)}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {variant === undefined || variant.schema["type"] === "null" ? null : (
        <Field
          key={at}
          schema={{ ...variant.schema, description: "" }}
          path={path}
          name={path === "" ? "" : name}
          value={value ?? undefined}
          onChange={onChange}
          required
          depth={depth + 1}
          bare
        />
      )}
    </Group>
  );
}

/** Any value, as JSON. What is no JSON yet is not passed on. */
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
