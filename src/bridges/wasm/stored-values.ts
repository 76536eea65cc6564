import { type ContentStore, type Digest, isJsonObject, type Json } from "../../core/contract/index.ts";
import { base64 } from "./host/values.ts";
import type { WitValue } from "./wit.ts";

/** Values of WIT as JSON that an event can carry; what is large goes to the content store. */

/** Bytes up to here stand in the event itself. */
const INLINE_BYTES = 4_096;
/** A value whose JSON is longer is kept apart as a whole. */
const INLINE_JSON = 16_384;

export type Put = (bytes: Uint8Array) => Promise<Digest> | Digest;

/** A content that a record names was collected, or erased. */
export class MissingContent extends Error {
  override readonly name = "MissingContent";
  readonly digest: Digest;
  constructor(digest: Digest) {
    super(`The content ${digest} that this event names is no longer kept.`);
    this.digest = digest;
  }
}

const isBytes = (value: WitValue): value is Uint8Array => value instanceof Uint8Array;
const isList = (value: WitValue | Json): value is readonly never[] => Array.isArray(value);

function large(value: WitValue, into: Set<Uint8Array>): void {
  if (isBytes(value)) {
    if (value.length > INLINE_BYTES) into.add(value);
  } else if (typeof value === "object") for (const part of Object.values<WitValue>(value)) large(part, into);
}

function written(value: WitValue, apart: ReadonlyMap<Uint8Array, Digest>): Json {
  if (value === undefined) return null;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : { f64: String(value) };
  if (typeof value === "bigint") return { u64: String(value) };
  if (isBytes(value)) {
    const digest = apart.get(value);
    return digest === undefined ? { bytes: base64(value) } : { digest, length: value.length };
  }
  if (isList(value)) return value.map((part) => written(part, apart));
  const entries = Object.entries<WitValue>(value).map(([name, part]): [string, Json] => [name, written(part, apart)]);
  const bag = Object.fromEntries(entries);
  return entries.length === 1 && ("ok" in bag || "err" in bag) ? bag : { record: bag };
}

/** Settles when what it put is durable. */
export async function kept(value: WitValue, put: Put): Promise<Json> {
  const apart = new Map<Uint8Array, Digest>();
  const parts = new Set<Uint8Array>();
  large(value, parts);
  if (parts.size > 0) await Promise.all([...parts].map(async (part) => apart.set(part, await put(part))));
  const json = written(value, apart);
  if (typeof json !== "string" && !isJsonObject(json) && !isList(json)) return json;
  const text = JSON.stringify(json);
  return text.length <= INLINE_JSON ? json : keptText(text, put);
}

/** JSON of kept values, apart. */
export async function keptText(text: string, put: Put): Promise<{ readonly kept: Json }> {
  const bytes = Buffer.from(text);
  return { kept: { digest: await put(bytes), length: bytes.length } };
}

/** Loads a value that `kept` stored. Throws `MissingContent` if a part is missing, and a TypeError for anything else than such a value. */
export async function loadValue(json: Json, get: ContentStore["get"]): Promise<WitValue> {
  if (json === null) return undefined;
  if (typeof json !== "object") return json;
  if (isList(json)) return Promise.all(json.map((part: Json) => loadValue(part, get)));
  if (!isJsonObject(json)) throw notKept();
  const { bytes, digest, kept: apart, u64, f64, record } = json;
  if (typeof bytes === "string") return new Uint8Array(Buffer.from(bytes, "base64"));
  if (typeof digest === "string") return content(digest, get);
  if (isJsonObject(apart) && typeof apart["digest"] === "string") {
    return loadValue(await loadText(apart["digest"], get), get);
  }
  if (typeof u64 === "string") return BigInt(u64);
  if (typeof f64 === "string") return Number(f64);
  if (isJsonObject(record)) return fields(record, get);
  if ("ok" in json || "err" in json) return fields(json, get);
  throw notKept();
}

export async function loadText(digest: Digest, get: ContentStore["get"]): Promise<Json> {
  const json: Json = JSON.parse(Buffer.from(await content(digest, get)).toString());
  return json;
}

async function fields(bag: { readonly [key: string]: Json }, get: ContentStore["get"]): Promise<WitValue> {
  const entries = Object.entries(bag).map(async ([name, part]): Promise<[string, WitValue]> => [name, await loadValue(part, get)]);
  return Object.fromEntries(await Promise.all(entries));
}

async function content(digest: Digest, get: ContentStore["get"]): Promise<Uint8Array> {
  const bytes = await get(digest);
  if (bytes === undefined) throw new MissingContent(digest);
  return bytes;
}

const notKept = (): TypeError => new TypeError("This is no kept value: read it from a guest's record.");
