// Owns: the arguments of a call while they are filled in, and whether they fit their schema. Does not own: the form (schema-form.tsx).
import { type Signal, useSignal } from "@preact/signals";
import type { JsonObject } from "../../../src/core/contract/index.ts";
import { isObject } from "../json.ts";
import { check, firstValue, type Mistakes, NO_MISTAKES, SchemaForm } from "./schema-form.tsx";

export interface Fields {
  readonly current: Signal<JsonObject>;
  readonly mistakes: Signal<Mistakes>;
  /** Undefined: they do not fit; the form says where. */
  readonly checked: () => JsonObject | undefined;
}

/** `given`: values that are known, over those that the schema begins with. */
export function useArguments(schema: JsonObject, given: JsonObject): Fields {
  const first = firstValue(schema, schema);
  const current = useSignal<JsonObject>({ ...(isObject(first) ? first : {}), ...given });
  const mistakes = useSignal(NO_MISTAKES);
  const checked = (): JsonObject | undefined => {
    mistakes.value = check(schema, current.value);
    return mistakes.value.size > 0 ? undefined : current.value;
  };
  return { current, mistakes, checked };
}

export function ArgumentsField({
  fields,
  schema,
  choices,
}: {
  readonly fields: Fields;
  readonly schema: JsonObject;
  /** Argument → values allowed now. */
  readonly choices?: Readonly<Record<string, readonly string[]>> | undefined;
}) {
  return (
    <SchemaForm
      schema={schema}
      value={fields.current.value}
      mistakes={fields.mistakes.value}
      {...(choices === undefined ? {} : { choices })}
      onChange={(next) => {
        fields.current.value = next;
        // What was wrong is checked again at once; what is not filled in yet is not called wrong before it is sent.
        if (fields.mistakes.value.size > 0) fields.checked();
      }}
    />
  );
}
