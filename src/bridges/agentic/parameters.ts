// Owns: how arguments become the parameters of an action: the input schema, and Blobs from base64. Does not own: schemas (to-json-schema.ts).
import { isJsonObject, type Json, type JsonObject } from "../../core/contract/index.ts";
import type { Action } from "./agentic-service.ts";
import { fromBase64 } from "./json-values.ts";
import { isRawSchema, type RawSchema, toJSONSchema, translated } from "./to-json-schema.ts";

/** How a tool's arguments, always one object, become the parameters of an action. */
export interface Signature {
  readonly inputSchema: JsonObject;
  /** `wrong`: what is invalid, as a sentence for the caller. */
  readonly input: (args: JsonObject) => { readonly values: readonly unknown[] } | { readonly wrong: string };
}

const NO_ARGUMENTS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

/** No parameter: no arguments. One object: its own schema. One value of another type: a property named by its title. Several: one property each. */
export function signatureOf(parameters: readonly unknown[]): Signature {
  if (parameters.length === 0) return { inputSchema: NO_ARGUMENTS, input: () => ({ values: [] }) };
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
  // A parameter with a default is optional only if all parameters after it are.
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
    // Another parameter may have the title `arg1`.
    while (titles.includes(name)) name += "_";
    return name;
  });
}

const MAX_SCHEMA_DEPTH = 64;
const MAX_SCHEMA_NODES = 10_000;

/** Replaces base64 text by a Blob where the schema's type is `blob`. Throws `NotBase64`. */
type Decoder = (value: unknown, at: string) => unknown;

/** `at` names the position: `file`, `pages/0`. */
class NotBase64 extends Error {
  constructor(at: string) {
    super(`${at.slice(0, 256)} must be base64`);
  }
}

/** Undefined: the schema has no blobs, so values need no decoding. Combinators and references are not followed. */
function decoderOf(schema: unknown): Decoder | undefined {
  return new DecoderBuilder().of(schema);
}

class DecoderBuilder {
  #left = MAX_SCHEMA_NODES;
  readonly #ancestors: object[] = [];

  of(schema: unknown): Decoder | undefined {
    this.#left -= 1;
    if (!isRawSchema(schema) || this.#left < 0 || this.#ancestors.length >= MAX_SCHEMA_DEPTH || this.#ancestors.includes(schema))
      return undefined;
    if (schema["type"] === "blob") return blobDecoder(schema["mediaType"]);
    this.#ancestors.push(schema);
    const list = this.#inList(schema);
    const object = this.#inObject(schema);
    this.#ancestors.pop();
    if (list === undefined && object === undefined) return undefined;
    return (value, at) => (Array.isArray(value) ? list : object)?.(value, at) ?? value;
  }

  #inList({ items, prefixItems, additionalItems }: RawSchema): Decoder | undefined {
    const heads: unknown = Array.isArray(items) ? items : prefixItems;
    const first = Array.isArray(heads) ? heads.map((one: unknown) => this.of(one)) : [];
    const rest = this.of(Array.isArray(items) ? additionalItems : items);
    if (rest === undefined && first.every((one) => one === undefined)) return undefined;
    return (value, at) =>
      Array.isArray(value)
        ? value.map((one: unknown, i) => {
            const decode = i < first.length ? first[i] : rest;
            return decode === undefined ? one : decode(one, `${at}/${i}`);
          })
        : value;
  }

  #inObject({ properties, additionalProperties }: RawSchema): Decoder | undefined {
    const named = new Map(isRawSchema(properties) ? Object.entries(properties).map(([key, one]) => [key, this.of(one)]) : []);
    const rest = this.of(additionalProperties);
    if (rest === undefined && [...named.values()].every((one) => one === undefined)) return undefined;
    return (value, at) =>
      isJsonObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, one]) => {
              const decode = named.has(key) ? named.get(key) : rest;
              return [key, decode === undefined ? one : decode(one, at === "" ? key : `${at}/${key}`)];
            }),
          )
        : value;
  }
}

function blobDecoder(mediaType: unknown): Decoder {
  const options = typeof mediaType === "string" ? { type: mediaType } : {};
  return (value, at) => {
    if (typeof value !== "string") return value;
    const bytes = fromBase64(value);
    if (bytes === undefined) throw new NotBase64(at);
    return new Blob([bytes], options);
  };
}
