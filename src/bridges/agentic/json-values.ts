// Owns: any JavaScript value as JSON, with bytes and Blobs as base64, and which JSON counts as MCP content. Does not own: replies made
// of it (state-content.ts, call-action.ts).
import { CONTENT, EngineError, type Json } from "../../core/contract/index.ts";
import { isBlob, isContent } from "../../core/contract/internal.ts";
import { callerMessage } from "./service-faults.ts";

const MAX_DEPTH = 64;
const MAX_NODES = 1_000_000;

/** A value as JSON, with placeholders for its Blobs: these can be read only asynchronously, by `withBlobs`. */
export interface JsonWithBlobs {
  readonly json: Json;
  /** Placeholder `{ size, type }` → its Blob, in the order of the value. */
  readonly blobs: ReadonlyMap<object, Blob>;
}

/**
 * A value as JSON. Typed arrays, sets and typed buffers become lists. A map becomes an object, or a list of pairs if a key is not a
 * string. Bytes become base64, a Blob `{ size, type }`, NaN and the infinities null. Functions and undefined are omitted. A value that
 * contains itself, or is nested deeper than 64 levels, is cut to null. Throws `STATE_TOO_LARGE` beyond a million values.
 */
export function toJson(value: unknown): Json {
  return new JsonConverter().json(value);
}

/** Like `toJson`, with the Blobs that the value contains. */
export function jsonWithBlobs(value: unknown): JsonWithBlobs {
  const converter = new JsonConverter();
  return { json: converter.json(value), blobs: converter.blobs };
}

class JsonConverter {
  readonly blobs = new Map<object, Blob>();
  #left = MAX_NODES;
  readonly #ancestors: object[] = [];

  json(value: unknown): Json {
    if (value === null || typeof value === "boolean") return value;
    if (typeof value === "string") return value.toWellFormed();
    // JSON has no negative zero.
    if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
    if (typeof value === "bigint") return value.toString();
    if (typeof value !== "object" || this.#ancestors.length > MAX_DEPTH || this.#ancestors.includes(value)) return null;
    this.#ancestors.push(value);
    try {
      return this.#object(value);
    } finally {
      this.#ancestors.pop();
    }
  }

  #object(value: object): Json {
    const bytes = bytesOf(value);
    if (bytes !== undefined) return toBase64(bytes);
    if (Array.isArray(value) || ArrayBuffer.isView(value) || value instanceof Set) return isIterable(value) ? this.#list(value) : null;
    if (value instanceof Blob) return this.#blob(value);
    if (value instanceof Map) return areTexts(value.keys()) ? this.#entries(value) : this.#list(value);
    if ("toJSON" in value && typeof value.toJSON === "function") return this.json(value.toJSON());
    if (isColumn(value)) return this.#list(columnItems(value));
    return this.#entries(Object.entries(value));
  }

  #blob(blob: Blob): Json {
    const placeholder = { size: blob.size, type: blob.type };
    this.blobs.set(placeholder, blob);
    return placeholder;
  }

  #list(items: Iterable<unknown>): Json {
    const list: Json[] = [];
    for (const item of items) {
      this.#spend();
      list.push(this.json(item));
    }
    return list;
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>): Json {
    const members: [string, Json][] = [];
    for (const [key, item] of entries) {
      if (item === undefined || typeof item === "function" || typeof item === "symbol") continue;
      this.#spend();
      members.push([String(key).toWellFormed(), this.json(item)]);
    }
    // Not by assignment: a key `__proto__` would be lost.
    return Object.fromEntries(members);
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

/** The most characters of JSON, or bytes, that one value may have. */
export const MAX_VALUE_LENGTH = 67_108_864;

/** The bytes of a Blob. Throws `STATE_TOO_LARGE`, or `CRASHED` if it cannot be read: its file may have been removed. */
export async function readBlob(blob: Blob): Promise<Uint8Array> {
  if (blob.size > MAX_VALUE_LENGTH) throw tooLarge(blob.size);
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (cause) {
    throw new EngineError("CRASHED", callerMessage(cause, "A Blob"), { cause });
  }
}

export function tooLarge(length: number): EngineError {
  return new EngineError("STATE_TOO_LARGE", `This is ${length} characters or bytes long: let the service show a part of it.`);
}

/** The size of a value's Blobs, in bytes. */
export function blobBytes({ blobs }: JsonWithBlobs): number {
  let size = 0;
  for (const blob of blobs.values()) size += blob.size;
  return size;
}

/** The JSON of a value, its Blobs as base64. A promise only if it has Blobs. Throws as `readBlob` does. */
export function withBlobs(value: JsonWithBlobs): Json | Promise<Json> {
  return value.blobs.size === 0 ? value.json : readBlobs(value);
}

async function readBlobs(value: JsonWithBlobs): Promise<Json> {
  const size = blobBytes(value);
  if (size > MAX_VALUE_LENGTH) throw tooLarge(size);
  const texts = new Map<object, string>();
  for (const [placeholder, blob] of value.blobs) texts.set(placeholder, toBase64(await readBlob(blob)));
  return replacePlaceholders(value.json, texts);
}

function replacePlaceholders(json: Json, texts: ReadonlyMap<object, string>): Json {
  if (typeof json !== "object" || json === null) return json;
  const text = texts.get(json);
  if (text !== undefined) return text;
  if (Array.isArray(json)) return json.map((one: Json) => replacePlaceholders(one, texts));
  return Object.fromEntries(Object.entries(json).map(([key, one]): [string, Json] => [key, replacePlaceholders(one, texts)]));
}

// A function call takes a limited number of arguments, so bytes are converted in pieces.
const PIECE = 8_192;

// Without Buffer, which browsers do not have.
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

/** Undefined: the text is not base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The bytes of a value that consists of bytes only. Undefined: it is another value. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer || isShared(value)) return new Uint8Array(value);
  if (value instanceof DataView || value instanceof Uint8ClampedArray)
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}

// Browsers define SharedArrayBuffer only in cross-origin isolated pages.
function isShared(value: unknown): value is SharedArrayBuffer {
  return typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer;
}

const trusted = new WeakSet<object>();

/** Marks the reply or state of an actor: if it is MCP content, the actor's author made it, and it is passed on as content. */
export function trustContent(value: Json): Json {
  if (isContent(value)) trusted.add(value);
  return value;
}

export const isTrustedContent = (value: unknown): boolean => typeof value === "object" && value !== null && trusted.has(value);

/** A service's data as a reply. Data that users entered may look like MCP content, and must not be treated as such. */
export function dataReply(json: Json): Json {
  if (!looksLikeContent(json)) return json;
  return { [CONTENT]: [{ type: "text", text: JSON.stringify(json) }], structured: json };
}

export const looksLikeContent = (json: Json): boolean => isContent(json) || isBlob(json);
