import type { ActorId } from "../contract/index.ts";
import { badId } from "./faults.ts";

const PLAIN = /^[a-z][a-z0-9-]{0,63}\/[A-Za-z0-9._~-]{1,256}$/u;
/** What `encodeURIComponent` writes. */
const SEGMENT = /^[a-z][a-z0-9-]{0,63}\/(?:[A-Za-z0-9._~!'()*-]|%[0-9A-F]{2})+$/u;
const LONGEST_KEY_BYTES = 256;

/** Anything between a kind and an end: a message may be on its way to nobody. */
export const isId = (value: unknown): value is ActorId => typeof value === "string" && /^[a-z][a-z0-9-]{0,63}\/.+$/u.test(value);

/** Before 0: `one` is listed first. By kind, then by key: as text, `a-b/c` would come before `a/c`. */
export function compareIds(one: ActorId, other: ActorId): number {
  const [left, right] = [one.replace("/", "\0"), other.replace("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}

// Who begins an actor has its id read twice.
let lastPlain: string | undefined;
let lastKey = "";

/** The key in clear. Throws `BAD_ID`, also for another writing of a key than `encodeURIComponent`'s: it would be a second actor of that key. */
export function keyOf(id: string): string {
  // Written without types it may be anything.
  if (typeof id !== "string") throw badId(id);
  if (id === lastPlain) return lastKey;
  const segment = id.slice(id.indexOf("/") + 1);
  if (PLAIN.test(id)) {
    lastPlain = id;
    lastKey = segment;
    return segment;
  }
  if (id.length > 64 + 1 + 3 * LONGEST_KEY_BYTES || !SEGMENT.test(id)) throw badId(id);
  let key: string;
  try {
    key = decodeURIComponent(segment);
  } catch {
    throw badId(id);
  }
  if (Buffer.byteLength(key) > LONGEST_KEY_BYTES || encodeURIComponent(key) !== segment) throw badId(id);
  return key;
}
