import type { ActorId } from "./actor.ts";

/** What `encodeURIComponent` writes: each of these is one byte of the key. */
const ID = /^[a-z][a-z0-9-]{0,63}\/(?:[A-Za-z0-9._~!'()*-]|%[0-9A-F]{2}){1,256}$/u;
const ADDRESS = /^[a-z][a-z0-9-]{0,63}\/.+$/u;

/** The key in clear. Undefined for no id, and for another writing of a key than `kind.id(key)`'s: it would be a second actor of that key. */
export function keyIn(given: unknown): string | undefined {
  if (typeof given !== "string" || !ID.test(given)) return undefined;
  const segment = given.slice(given.indexOf("/") + 1);
  if (!segment.includes("%")) return segment;
  try {
    const key = decodeURIComponent(segment);
    return encodeURIComponent(key) === segment ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Whether it is an id as `kind.id(key)` writes it: an engine takes no other. */
export const isActorId = (given: unknown): given is ActorId => keyIn(given) !== undefined;

/** Anything between a kind and an end: a message may be on its way to nobody. */
export const isAddress = (given: unknown): given is ActorId => typeof given === "string" && ADDRESS.test(given);

export const kindOf = (id: ActorId): string => id.slice(0, id.indexOf("/"));

/** Before 0: `one` is listed first. By kind, then by key: as text, `a-b/c` would come before `a/c`. */
export function compareIds(one: ActorId, other: ActorId): number {
  // Of kinds of one length the text says it: many are sorted by this.
  const isText = one.indexOf("/") === other.indexOf("/");
  const [left, right] = isText ? [one, other] : [one.replace("/", "\0"), other.replace("/", "\0")];
  return left < right ? -1 : left > right ? 1 : 0;
}
