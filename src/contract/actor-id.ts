import type { ActorId } from "./actor.ts";

const ID = /^[a-z][a-z0-9-]{0,63}\/(?:[A-Za-z0-9._~!'()*-]|%[0-9A-F]{2}){1,768}$/u;
const KEY_BYTES = 256;
const encoder = new TextEncoder();

export const kindOf = (id: ActorId): string => id.slice(0, id.indexOf("/"));

/** Whether it is an id as `kind.id(key)` writes it: an engine takes no other. */
export function isActorId(given: unknown): given is ActorId {
  if (typeof given !== "string" || !ID.test(given)) return false;
  const segment = given.slice(given.indexOf("/") + 1);
  try {
    const key = decodeURIComponent(segment);
    return encoder.encode(key).byteLength <= KEY_BYTES && encodeURIComponent(key) === segment;
  } catch {
    return false;
  }
}
