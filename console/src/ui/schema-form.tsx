// Owns: a form made from a JSON Schema, with a switch to the JSON itself. Does not own: sending it.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Json, JsonObject } from "../../../src/core/contract/index.ts";
import { isObject } from "../json.ts";
import type { Mistakes } from "./schema-form/check.ts";
import { FormContext } from "./schema-form/context.ts";
import { Field } from "./schema-form/fields.tsx";
import { JsonField } from "./schema-form/json-field.tsx";
import "./schema-form.css";

export { check, type Mistakes, NO_MISTAKES } from "./schema-form/check.ts";
export { firstValue } from "./schema-form/schema.ts";

const NO_CHOICES = {};

export function SchemaForm({
  schema,
  value,
  onChange,
  mistakes,
  choices = NO_CHOICES,
}: {
  readonly schema: JsonObject;
  readonly value: JsonObject;
  readonly onChange: (value: JsonObject) => void;
  /** Of `check`. Shown next to their fields. */
  readonly mistakes: Mistakes;
  /** Member → values allowed now. */
  readonly choices?: Readonly<Record<string, readonly string[]>>;
}) {
  const raw = useSignal(false);
  const context = useMemo(() => ({ root: schema, mistakes, choices }), [schema, mistakes, choices]);
  const properties = isObject(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  const isOpen = isObject(schema["additionalProperties"]) || Array.isArray(schema["oneOf"]) || Array.isArray(schema["anyOf"]);
  const isEmpty = properties.length === 0 && !isOpen && schema["$ref"] === undefined;
  const change = (next: Json | undefined): void => onChange(isObject(next) ? next : {});
  const whole = mistakes.get("");
  return (
    <FormContext.Provider value={context}>
      <div class="schema-form">
        <div class="row mode" role="group" aria-label="How to enter the arguments">
          <button type="button" class="small" aria-pressed={!raw.value} onClick={() => (raw.value = false)}>
            Form
          </button>
          <button type="button" class="small" aria-pressed={raw.value} onClick={() => (raw.value = true)}>
            JSON
          </button>
        </div>
        {raw.value ? (
          <JsonField label="Arguments as JSON" path="" value={value} onChange={change} rows={8} />
        ) : isEmpty ? (
          <p class="dim">It takes no arguments.</p>
        ) : (
          <Field schema={schema} path="" name="" value={value} onChange={change} required depth={0} />
        )}
        {whole === undefined ? null : <p class="mistake">{whole}</p>}
      </div>
    </FormContext.Provider>
  );
}
