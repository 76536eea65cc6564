import { type JsonObject, isJsonObject, type Json } from "../../core/contract/index.ts";
import type { Action } from "./agentic-service.ts";
import { decoderOf, NotBase64 } from "./blob-positions.ts";
import { toJSONSchema, translated } from "./to-json-schema.ts";

/** How a tool's arguments, which are always one object, become what an action takes. */
export interface Signature {
  readonly inputSchema: JsonObject;
  /** What is `wrong` is for the caller to read. */
  readonly input: (args: JsonObject) => { readonly values: readonly unknown[] } | { readonly wrong: string };
}

const NOTHING: JsonObject = { type: "object", properties: {}, additionalProperties: false };

/** No parameter: no arguments. One object: its own schema. One other value: wrapped under its title. Several: one property each, in order. */
export function signatureOf(parameters: readonly unknown[]): Signature {
  if (parameters.length === 0) return { inputSchema: NOTHING, input: () => ({ values: [] }) };
  if (parameters.length === 1) {
    const only = toJSONSchema(parameters[0]);
    if (only["type"] === "object") {
      const decode = decoderOf(parameters[0]);
      return { inputSchema: only, input: (args) => decoded(() => [decode === undefined ? args : decode(args, "")]) };
    }
  }
  const names = namesOf(parameters);
  const schemas = parameters.map((parameter, i) => translated(parameter, `/properties/${names[i] ?? ""}`));
  const decoders = parameters.map((parameter) => decoderOf(parameter));
  // A parameter with a default may be left out, but only after all that may not.
  let count = schemas.length;
  while (count > 0 && schemas[count - 1]?.["default"] !== undefined) count -= 1;
  return {
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(schemas.map((schema, i): [string, Json] => [names[i] ?? "", schema])),
      required: names.slice(0, count),
      additionalProperties: false,
    },
    input: (args) =>
      decoded(() =>
        names.map((name, i) => {
          if (!Object.hasOwn(args, name)) return schemas[i]?.["default"];
          const decode = decoders[i];
          return decode === undefined ? args[name] : decode(args[name], name);
        }),
      ),
  };
}

function decoded(read: () => readonly unknown[]): ReturnType<Signature["input"]> {
  try {
    return { values: read() };
  } catch (error) {
    if (error instanceof NotBase64) return { wrong: error.message };
    throw error;
  }
}

export function parametersOf({ parameters, schema }: Action): readonly unknown[] {
  if (Array.isArray(parameters)) return parameters;
  return schema === undefined || schema === false ? [] : [schema];
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

function namesOf(schemas: readonly unknown[]): readonly string[] {
  const titles = schemas.map((schema) => {
    const title = isJsonObject(schema) ? schema["title"] : undefined;
    return typeof title === "string" && NAME.test(title) ? title : undefined;
  });
  return titles.map((title, i) => {
    if (title !== undefined && titles.indexOf(title) === i) return title;
    let name = schemas.length === 1 ? "input" : `arg${i}`;
    // A title may be `arg1` itself.
    while (titles.includes(name)) name += "_";
    return name;
  });
}
