import { EngineError, type Json } from "../../core/contract/index.ts";
import { toBase64 } from "./base64.ts";
import type { Plain } from "./plain-json.ts";
import { wordsOf } from "./words-of.ts";

/** Characters of JSON, or bytes, that one value may have. */
export const MAX_LENGTH = 67_108_864;

/** Throws `STATE_TOO_LARGE`; `CRASHED`: what it is of, say a file, is gone. */
export async function bytesIn(blob: Blob): Promise<Uint8Array> {
  if (blob.size > MAX_LENGTH) throw tooLarge(blob.size);
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
  if (size > MAX_LENGTH) throw tooLarge(size);
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
