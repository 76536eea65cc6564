import { isJsonObject } from "../../core/contract/index.ts";
import { fromBase64 } from "./base64.ts";

const MAX_DEPTH = 64;
const MAX_NODES = 10_000;

/** What JSON has given, with a Blob for each base64 text where the schema says `blob`. Throws `NotBase64`. */
export type Decoder = (value: unknown, at: string) => unknown;

/** `at` names the position: `file`, `pages/0`. */
export class NotBase64 extends Error {
  constructor(at: string) {
    super(`${at.slice(0, 256)} must be base64`);
  }
}

/** Undefined: no position is a blob's, and what is given stays as it is. What combinators and references lead to is not looked at. */
export function decoderOf(schema: unknown): Decoder | undefined {
  return new Positions().of(schema);
}

type Raw = Readonly<Record<string, unknown>>;

class Positions {
  #left = MAX_NODES;
  readonly #above: object[] = [];

  of(schema: unknown): Decoder | undefined {
    this.#left -= 1;
    if (!isRaw(schema) || this.#left < 0 || this.#above.length >= MAX_DEPTH || this.#above.includes(schema)) return undefined;
    if (schema["type"] === "blob") return blobDecoder(schema["mediaType"]);
    this.#above.push(schema);
    const list = this.#inList(schema);
    const object = this.#inObject(schema);
    this.#above.pop();
    if (list === undefined && object === undefined) return undefined;
    return (value, at) => (Array.isArray(value) ? list : object)?.(value, at) ?? value;
  }

  #inList({ items, prefixItems, additionalItems }: Raw): Decoder | undefined {
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

  #inObject({ properties, additionalProperties }: Raw): Decoder | undefined {
    const named = new Map(isRaw(properties) ? Object.entries(properties).map(([key, one]) => [key, this.of(one)]) : []);
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

function isRaw(value: unknown): value is Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
