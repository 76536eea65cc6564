// Owns: WIT values as JSON in events; large parts go to the content store. Does not own: the record of a call (guest/call-record.ts).
import { type ContentStore, type Digest, isJsonObject, isList, type Json } from "../../core/contract/index.ts";
import { base64 } from "./host/values.ts";
import type { WitValue } from "./wit.ts";

/** Byte arrays up to this length are stored in the event itself. */
const INLINE_BYTES = 4_096;
/** A value with longer JSON is moved to the content store as a whole. */
const INLINE_JSON = 16_384;

export type Put = (bytes: Uint8Array) => Promise<Digest> | Digest;

/** A content that a record refers to was collected or erased. */
export class MissingContent extends Error {
  override readonly name = "MissingContent";
  readonly digest: Digest;
  constructor(digest: Digest) {
    super(`The content ${digest} that this event names is no longer kept.`);
    this.digest = digest;
  }
}

const isBytes = (value: WitValue): value is Uint8Array => value instanceof Uint8Array;

function collectLarge(value: WitValue, into: Set<Uint8Array>): void {
  if (isBytes(value)) {
    if (value.length > INLINE_BYTES) into.add(value);
  } else if (typeof value === "object") for (const part of Object.values<WitValue>(value)) collectLarge(part, into);
}

function toJson(value: WitValue, digests: ReadonlyMap<Uint8Array, Digest>): Json {
  if (value === undefined) return null;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : { f64: String(value) };
  if (typeof value === "bigint") return { u64: String(value) };
  if (isBytes(value)) {
    const digest = digests.get(value);
    return digest === undefined ? { bytes: base64(value) } : { digest, length: value.length };
  }
  if (isList(value)) return value.map((part) => toJson(part, digests));
  const entries = Object.entries<WitValue>(value).map(([name, part]): [string, Json] => [name, toJson(part, digests)]);
  const bag = Object.fromEntries(entries);
  return entries.length === 1 && ("ok" in bag || "err" in bag) ? bag : { record: bag };
}

/** Converts a value to JSON for an event. Resolves once the contents that it stored are durable. */
export async function storeValue(value: WitValue, put: Put): Promise<Json> {
  const digests = new Map<Uint8Array, Digest>();
  const parts = new Set<Uint8Array>();
  collectLarge(value, parts);
  if (parts.size > 0) await Promise.all([...parts].map(async (part) => digests.set(part, await put(part))));
  const json = toJson(value, digests);
  if (typeof json !== "string" && !isJsonObject(json) && !isList(json)) return json;
  const text = JSON.stringify(json);
  return text.length <= INLINE_JSON ? json : storeText(text, put);
}

/** Stores JSON text in the content store, and returns a reference to it. */
export async function storeText(text: string, put: Put): Promise<{ readonly kept: Json }> {
  const bytes = Buffer.from(text);
  return { kept: { digest: await put(bytes), length: bytes.length } };
}

/** Loads a value that `storeValue` stored. Throws `MissingContent` if a part is missing, and a TypeError for JSON of another form. */
export async function loadValue(json: Json, get: ContentStore["get"]): Promise<WitValue> {
  if (json === null) return undefined;
  if (typeof json !== "object") return json;
  if (isList(json)) return Promise.all(json.map((part) => loadValue(part, get)));
  if (!isJsonObject(json)) throw notStored();
  const { bytes, digest, kept: stored, u64, f64, record } = json;
  if (typeof bytes === "string") return new Uint8Array(Buffer.from(bytes, "base64"));
  if (typeof digest === "string") return loadContent(digest, get);
  if (isJsonObject(stored) && typeof stored["digest"] === "string") {
    return loadValue(await loadText(stored["digest"], get), get);
  }
  if (typeof u64 === "string") return BigInt(u64);
  if (typeof f64 === "string") return Number(f64);
  if (isJsonObject(record)) return loadFields(record, get);
  if ("ok" in json || "err" in json) return loadFields(json, get);
  throw notStored();
}

export async function loadText(digest: Digest, get: ContentStore["get"]): Promise<Json> {
  const json: Json = JSON.parse(Buffer.from(await loadContent(digest, get)).toString());
  return json;
}

async function loadFields(bag: { readonly [key: string]: Json }, get: ContentStore["get"]): Promise<WitValue> {
  const entries = Object.entries(bag).map(async ([name, part]): Promise<[string, WitValue]> => [name, await loadValue(part, get)]);
  return Object.fromEntries(await Promise.all(entries));
}

async function loadContent(digest: Digest, get: ContentStore["get"]): Promise<Uint8Array> {
  const bytes = await get(digest);
  if (bytes === undefined) throw new MissingContent(digest);
  return bytes;
}

const notStored = (): TypeError => new TypeError("This is no kept value: read it from a guest's record.");
