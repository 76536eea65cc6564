// Owns: the arguments of a call: as a form made of the schema, or as JSON. Does not own: the form and the editor (ui/).
import { type Signal, useSignal } from "@preact/signals";
import type { JsonObject } from "../../../../src/core/contract/index.ts";
import { isObject, objectIn } from "../../mcp/wire.ts";
import { JsonEditor } from "../../ui/json-editor.tsx";

export interface Fields {
  readonly text: Signal<string>;
  /** Undefined: the JSON is none. */
  readonly value: () => JsonObject | undefined;
}

export function useArguments(schema: JsonObject, given: JsonObject): Fields {
  const text = useSignal(Object.keys(given).length > 0 ? pretty(given) : "{}");
  return { text, value: () => parse(text.value) };
}

const pretty = (value: JsonObject): string => JSON.stringify(value, null, 2);

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() === "" ? "{}" : text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function ArgumentsField({
  fields,
  schema,
  onSubmit,
}: {
  readonly fields: Fields;
  readonly schema: JsonObject;
  readonly onSubmit: () => void;
}) {
  if (Object.keys(objectIn(schema, "properties")).length === 0 && fields.text.value === "{}")
    return <p class="dim small">It takes no arguments.</p>;
  return <JsonEditor label="Arguments" value={fields.text.value} onChange={(text) => (fields.text.value = text)} onSubmit={onSubmit} />;
}
