import { type JsonObject, type Clock, isJsonObject, isList, type Json } from "../../core/contract/index.ts";
import { PacketError } from "./packet-error.ts";
import { reasonOf } from "./reason-of.ts";

/** Of arguments and of a result, as JSON: what is more is left out of the record. */
const MOST_BYTES = 16_384;
/** Characters of a text that stays in a value which is too much as a whole. */
const LONGEST_TEXT = 256;

export interface Recording {
  readonly clock: Clock;
  /** The turn's own: several records make a list in its event. */
  readonly record: (what: unknown) => void;
}

/** A call that an actor's work makes; it is kept in the event of the turn: `{ [sort]: { …about, result | error, ms } }`. */
export async function inRecord<T>(
  { clock, record }: Recording,
  sort: "mcp" | "request",
  about: JsonObject,
  call: () => Promise<T>,
  shown: (result: T) => Json,
): Promise<T> {
  const began = clock.now();
  const keep = (end: { readonly result: Json } | { readonly error: Json }): void =>
    record({ [sort]: { ...about, ...end, ms: clock.now() - began } });
  let result: T;
  try {
    result = await call();
  } catch (error) {
    keep({ error: { type: error instanceof PacketError ? error.type : "execution_failed", message: reasonOf(error) } });
    throw error;
  }
  keep({ result: forRecord(shown(result)) });
  return result;
}

/** Whole texts only: redaction finds a secret by all of it, and would miss one that was cut. */
export function forRecord(value: Json): Json {
  const whole = JSON.stringify(value);
  const bytes = Buffer.byteLength(whole);
  if (bytes <= MOST_BYTES) {
    const copy: Json = JSON.parse(whole);
    return copy;
  }
  const shorter = withoutLongTexts(value);
  return Buffer.byteLength(JSON.stringify(shorter)) <= MOST_BYTES ? shorter : { omitted: bytes };
}

function withoutLongTexts(value: Json): Json {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? value : { omitted: value.length };
  if (isList(value)) return value.map(withoutLongTexts);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLongTexts(one)]));
}
