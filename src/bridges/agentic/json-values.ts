// Owns: which values with a mark of MCP content are content: those that an actor's author made. Data of a service is data.
import { EngineError, type Json, CONTENT } from "../../core/contract/index.ts";
import { wordsOf } from "./faults.ts";
import { isBlob, isContent } from "../../core/contract/internal.ts";

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

/** Characters of JSON, or bytes, that one value may have. */
export const MAX_VALUE_LENGTH = 67_108_864;

/** Throws `STATE_TOO_LARGE`; `CRASHED`: what it is of, say a file, is gone. */
export async function bytesIn(blob: Blob): Promise<Uint8Array> {
  if (blob.size > MAX_VALUE_LENGTH) throw tooLarge(blob.size);
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (cause) {
    throw new EngineError("CRASHED", wordsOf(cause, "A Blob"), { cause });
  }
}

export function tooLarge(length: number): EngineError {
  return new EngineError("STATE_TOO_LARGE", `This is ${length} characters or bytes long: let the service show a part of it.`);
}

/** What is in the Blobs of a value, in bytes. */
export function sizeOf({ blobs }: Plain): number {
  let size = 0;
  for (const blob of blobs.values()) size += blob.size;
  return size;
}

/** A value with its Blobs as base64. No promise where it has none. Throws as `bytesIn` does. */
export function filled(value: Plain): Json | Promise<Json> {
  return value.blobs.size === 0 ? value.plain : fill(value);
}

async function fill(value: Plain): Promise<Json> {
  const size = sizeOf(value);
  if (size > MAX_VALUE_LENGTH) throw tooLarge(size);
  const texts = new Map<object, string>();
  for (const [said, blob] of value.blobs) texts.set(said, toBase64(await bytesIn(blob)));
  return replaced(value.plain, texts);
}

function replaced(plain: Json, texts: ReadonlyMap<object, string>): Json {
  if (typeof plain !== "object" || plain === null) return plain;
  const text = texts.get(plain);
  if (text !== undefined) return text;
  if (Array.isArray(plain)) return plain.map((one: Json) => replaced(one, texts));
  return Object.fromEntries(Object.entries(plain).map(([key, one]): [string, Json] => [key, replaced(one, texts)]));
}

// Not Buffer: a service may live in a browser. A call takes only so many arguments, so bytes are turned in pieces.
const PIECE = 8_192;

export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(text);
}

/** Undefined: it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** A value that is nothing but bytes; undefined: it is something else. */
export function bytesOf(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (value instanceof ArrayBuffer || isShared(value)) return new Uint8Array(value);
  if (value instanceof DataView || value instanceof Uint8ClampedArray)
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return undefined;
}

// A page that is not isolated from others has no such thing.
function isShared(value: unknown): value is SharedArrayBuffer {
  return typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer;
}

const content = new WeakSet<object>();

/** What an actor replied or showed: if its author made content of it, `toReply` hands it on as content. */
export function fromActor(value: Json): Json {
  if (isContent(value)) content.add(value);
  return value;
}

export const isFromActor = (value: unknown): boolean => typeof value === "object" && value !== null && content.has(value);

/** A service's data as a reply. What users wrote may have the members of a mark, and must not pass for content that an author chose. */
export function toReply(plain: Json): Json {
  if (!isMarked(plain)) return plain;
  return { [CONTENT]: [{ type: "text", text: JSON.stringify(plain) }], structured: plain };
}

export const isMarked = (plain: Json): boolean => isContent(plain) || isBlob(plain);
