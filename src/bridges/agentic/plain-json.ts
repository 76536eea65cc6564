import { EngineError, type Json } from "../../core/contract/index.ts";
import { bytesOf, toBase64 } from "./base64.ts";

const MAX_DEPTH = 64;
const MAX_NODES = 1_000_000;

/** A value as JSON, which Blobs are read into later: nobody can look into one without waiting. */
export interface Plain {
  readonly plain: Json;
  /** What stands in the place of each, `{ size, type }` → the Blob; in the order of the value. */
  readonly blobs: ReadonlyMap<object, Blob>;
}

/**
 * A value as JSON says it: typed arrays, sets and typed buffers become lists, maps objects, or lists of pairs where a key is
 * no text, bytes base64; what JSON has no word for (functions, undefined) goes, of a Blob remains `{ size, type }`, NaN and
 * the infinities become null. What contains itself, or lies deeper than 64 levels, is cut to null. Throws `STATE_TOO_LARGE`
 * beyond a million values.
 */
export function toPlain(value: unknown): Json {
  return new Plainer().plain(value);
}

/** The same, and the Blobs in it. */
export function plainOf(value: unknown): Plain {
  const plainer = new Plainer();
  return { plain: plainer.plain(value), blobs: plainer.blobs };
}

class Plainer {
  readonly blobs = new Map<object, Blob>();
  #left = MAX_NODES;
  readonly #above: object[] = [];

  plain(value: unknown): Json {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") return value.toWellFormed();
    // JSON has one zero.
    if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || this.#above.length > MAX_DEPTH || this.#above.includes(value)) return null;
    this.#above.push(value);
    try {
      return this.#object(value);
    } finally {
      this.#above.pop();
    }
  }

  #object(value: object): Json {
    const bytes = bytesOf(value);
    if (bytes !== undefined) return toBase64(bytes);
    if (Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set) return isIterable(value) ? this.#list(value) : null;
    if (value instanceof Blob) return this.#blob(value);
    if (value instanceof Map) return areTexts(value.keys()) ? this.#entries(value) : this.#list(value);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.plain(value.toJSON());
    if (isColumn(value)) return this.#list(columnItems(value));
    return this.#entries(Object.entries(value));
  }

  #blob(blob: Blob): Json {
    const said = { size: blob.size, type: blob.type };
    this.blobs.set(said, blob);
    return said;
  }

  #list(items: Iterable<unknown>): Json {
    const list: Json[] = [];
    for (const item of items) {
      this.#spend();
      list.push(this.plain(item));
    }
    return list;
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>): Json {
    const kept: [string, Json][] = [];
    for (const [key, item] of entries) {
      if (item === undefined || typeof item === "function" || typeof item === "symbol") continue;
      this.#spend();
      kept.push([String(key).toWellFormed(), this.plain(item)]);
    }
    // Not by assignment: a key `__proto__` would be lost.
    return Object.fromEntries(kept);
  }

  #spend(): void {
    this.#left -= 1;
    if (this.#left < 0)
      throw new EngineError("STATE_TOO_LARGE", `This holds more than ${MAX_NODES} values: let the service show a part of it.`);
  }
}

function areTexts(keys: Iterable<unknown>): keys is Iterable<string> {
  for (const key of keys) if (typeof key !== "string") return false;
  return true;
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}

interface Column {
  readonly capacity: number;
  readonly schema: unknown;
  get(index: number): unknown;
}

/** A typed buffer of `@adobe/data`, by its shape. */
function isColumn(value: object): value is Column {
  return (
    "__brand" in value &&
    value.__brand === "TypedBuffer" &&
    "capacity" in value &&
    typeof value.capacity === "number" &&
    "get" in value &&
    typeof value.get === "function"
  );
}

function* columnItems(column: Column): Generator {
  for (let i = 0; i < column.capacity; i += 1) yield column.get(i);
}
