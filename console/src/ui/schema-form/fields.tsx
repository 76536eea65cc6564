// Owns: which field a value gets, and the fields that have others in them: lists, objects, variants. Does not own: what a schema means
// (schema.ts), single values (controls.tsx), or the form around them (schema-form.tsx).
import type { ComponentChildren } from "preact";
import { useContext, useId } from "preact/hooks";
import { useSignal } from "@preact/signals";
import type { Json, JsonObject } from "../../../../src/core/contract/index.ts";
import { isList, isObject } from "../../json.ts";
import { pathOf } from "../../json-paths.ts";
import { type FieldProps, FormContext, hintOf, type ResolvedProps } from "./context.ts";
import { Choice, Constant, Numeric, Text, YesNo } from "./controls.tsx";
import { JsonField } from "./json-field.tsx";
import { emptyValue, firstValue, isRequired, kindOf, resolve, variantOf, variantsOf } from "./schema.ts";

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

function Group({
  props,
  remove,
  children,
}: {
  readonly props: ResolvedProps;
  /** Otherwise the value is left out. */
  readonly remove?: () => void;
  readonly children: ComponentChildren;
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
        {required ? null : (
          <button type="button" class="small quiet" onClick={remove ?? (() => props.onChange(undefined))} aria-label={`Leave out ${name}`}>
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
const AddButton = ({ name, add }: { readonly name: string; readonly add: () => void }) => (
  <div class="form-field">
    <button type="button" class="small give" onClick={add}>
      + <span class="mono">{name}</span>
    </button>
  </div>
);

/** Of an item that was just added. */
const newValue = (schema: Json | undefined, root: JsonObject, depth: number): Json =>
  firstValue(schema, root, depth) ?? emptyValue(schema, root);

interface ItemProps extends Pick<FieldProps, "schema" | "path" | "name" | "value" | "depth"> {
  readonly onChange: (value: Json) => void;
  readonly remove: () => void;
}

/** An item of a list, or a member that the schema does not name. */
function Item({ onChange, remove, ...field }: ItemProps) {
  const { root } = useContext(FormContext);
  return (
    <div class="item">
      <Field {...field} onChange={(next) => onChange(next ?? emptyValue(field.schema, root))} required />
      <button type="button" class="small quiet" aria-label={`Remove ${field.name}`} onClick={remove}>
        Remove
      </button>
    </div>
  );
}

function List(props: ResolvedProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  if (value === undefined && !required) return <AddButton name={name} add={() => onChange([])} />;
  const items = isList(value) ? value : [];
  const { prefixItems: fixed, maxItems } = schema;
  const schemaAt = (at: number): Json | undefined => (isList(fixed) ? fixed[at] : undefined) ?? schema["items"];
  const isFull = (typeof maxItems === "number" && items.length >= maxItems) || (!isObject(schemaAt(items.length)) && isList(fixed));
  return (
    <Group props={props}>
      {items.map((item, at) => (
        <Item
          // oxlint-disable-next-line react/no-array-index-key -- an item has no other identity
          key={at}
          schema={schemaAt(at)}
          path={pathOf(path, at)}
          name={`${name}[${at}]`}
          value={item}
          onChange={(next) => onChange(items.map((old, index) => (index === at ? next : old)))}
          remove={() => onChange(items.filter((_, index) => index !== at))}
          depth={depth + 1}
        />
      ))}
      <button
        type="button"
        class="small"
        disabled={isFull}
        onClick={() => onChange([...items, newValue(schemaAt(items.length), root, depth + 1)])}
      >
        Add an item
      </button>
    </Group>
  );
}

function Members(props: ResolvedProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  const added = useSignal("");
  if (value === undefined && !required) return <AddButton name={name} add={() => onChange(firstValue({ ...schema }, root, depth) ?? {})} />;
  const members = isObject(value) ? value : {};
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const extra = schema["additionalProperties"];
  const extraSchema = isObject(extra) ? extra : {};
  const set = (key: string, next: Json | undefined): void => {
    const { [key]: _, ...others } = members;
    onChange(next === undefined ? others : { ...members, [key]: next });
  };
  const isExtensible = isObject(extra) || (extra !== false && Object.keys(properties).length === 0);
  const extraKeys = Object.keys(members).filter((key) => !Object.hasOwn(properties, key));
  return (
    <Group props={props}>
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
        <Item
          key={key}
          schema={extraSchema}
          path={pathOf(path, key)}
          name={key}
          value={members[key]}
          onChange={(next) => set(key, next)}
          remove={() => set(key, undefined)}
          depth={depth + 1}
        />
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
              set(added.value, newValue(extraSchema, root, depth + 1));
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

function Variants(props: ResolvedProps) {
  const { schema, path, name, value, onChange, required, depth } = props;
  const { root } = useContext(FormContext);
  const chosen = useSignal<number | undefined>(undefined);
  const variants = variantsOf(schema, root);
  const id = useId();
  if (value === undefined && !required && chosen.value === undefined)
    return (
      <AddButton
        name={name}
        add={() => {
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
    <Group props={props} remove={remove}>
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
