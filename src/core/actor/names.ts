// Owns: the names of kinds, offers and messages, and the ids of actors: their form, and its check. Does not own: unique names in a cast
// (mcp/source).
import { TroupeError } from "../contract/index.ts";
import { whereMade } from "./author-errors.ts";

const KIND = /^[a-z][a-z0-9-]{0,63}$/;
const OFFER = /^[A-Za-z0-9_.-]{1,128}$/;
const MESSAGE = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;
const KEY_BYTES = 256;
const encoder = new TextEncoder();

/** The kind's name itself; throws `BAD_NAME`. */
export function checkKind(kind: string): string {
  if (typeof kind === "string" && KIND.test(kind)) return kind;
  throw new TroupeError(
    "BAD_NAME",
    `${JSON.stringify(kind)} is no name for a kind: use a-z, 0-9 and -, from a letter on, at most 64 characters.`,
  );
}

/** The name of a tool, resource or prompt; throws `BAD_NAME`. */
export function checkOfferName(name: string, where: string): void {
  if (OFFER.test(name)) return;
  throw new TroupeError("BAD_NAME", `${where}: ${JSON.stringify(name)} is no name: use A-Z, a-z, 0-9, _, . and -, at most 128 characters.`);
}

/** The name of a message; throws `BAD_NAME`. */
export function checkMessageName(name: string, where: string): void {
  if (MESSAGE.test(name) && name !== "then") return;
  throw new TroupeError(
    "BAD_NAME",
    `${where}: ${JSON.stringify(name)} is no name for a message: use letters, digits, _ and -, from a letter on ("then" would make its address a promise).`,
  );
}

/**
 * `kind/key` with the key percent-encoded into one URI segment; throws `BAD_ID` unless the key is well-formed text of 1–256 bytes.
 *
 * @example
 * ```ts
 * import { actorId } from "troupe";
 *
 * actorId("room", "the hall"); // "room/the%20hall"
 * ```
 */
export function actorId<K extends string>(kind: K, key: string): `${K}/${string}` {
  if (typeof key !== "string") throw new TroupeError("BAD_ID", `A key of ${kind} is text, not ${typeName(key)}.`);
  if (!key.isWellFormed())
    throw new TroupeError("BAD_ID", `A key of ${kind} holds half a character (a lone surrogate): pass well-formed text.`);
  // A UTF-16 unit takes at most three bytes, so most keys need not be encoded to check their length.
  const bytes = key.length * 3 <= KEY_BYTES ? key.length : encoder.encode(key).byteLength;
  if (bytes < 1 || bytes > KEY_BYTES) {
    throw new TroupeError("BAD_ID", `A key of ${kind} is ${bytes} bytes: use 1 to ${KEY_BYTES}, for instance a hash of it.`);
  }
  return `${kind}/${encodeURIComponent(key)}`;
}

function typeName(key: unknown): string {
  if (key === null || key === undefined) return String(key);
  return typeof key === "object" ? "an object" : `a ${typeof key}: pass String(…) of it`;
}

/**
 * The key in an id, decoded; throws `BAD_ID`.
 *
 * @example
 * ```ts
 * import { keyOf } from "troupe";
 *
 * keyOf("room/the%20hall"); // "the hall"
 * ```
 */
export function keyOf(id: string): string {
  const slash = typeof id === "string" ? id.indexOf("/") : -1;
  if (slash > 0 && slash < id.length - 1) {
    const segment = id.slice(slash + 1);
    if (!segment.includes("%")) return segment;
    try {
      return decodeURIComponent(segment);
    } catch (cause) {
      throw new TroupeError("BAD_ID", `${JSON.stringify(id)} is not percent-encoded rightly: make ids with \`kind.id(key)\`.`, { cause });
    }
  }
  throw whereMade(new TroupeError("BAD_ID", `${JSON.stringify(id)} is no actor id: make ids with \`kind.id(key)\`.`));
}
