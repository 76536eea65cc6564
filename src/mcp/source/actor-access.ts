// Owns: which actor a caller may address, the form of handles, and the refusals of calls. Does not own: the life of handles (handles.ts).

import type { ActorId, Behaviour, Reply, Viewer } from "../../core/contract/index.ts";
import { isActorId, missingScopes, missingScopesMessage } from "../../core/contract/internal.ts";
import { base64urlOf, fromBase64, fromHex, hmacSha256, sameBytes, sha256Hex, utf8Length } from "../../core/platform/index.ts";

/**
 * The access rule of all transports. Sources enforce it in `act`, `surface`, `watch` and `complete`; a transport authenticates its
 * caller and translates refusals.
 *
 * Which actor a caller may address, by the kind's `per`:
 *
 * | `per` | which | who |
 * |---|---|---|
 * | `shared` | the actor `main` | everyone |
 * | `user`, with a principal | the actor of that principal | that principal |
 * | `user`, without one; `handle` | the actor of a handle | any caller with the handle; of an actor with an owner, its owner alone |
 * | `link`, absent | none by its key | any caller who may address an actor that links there now |
 * | any, by a link's argument | that of a key among the link's `choices`; without `choices`, as above, and any of `link` | any caller who may address the actor that has the link |
 *
 * Anything else answers as if it did not exist. An operator (the control socket, Theater) addresses any actor by its id.
 *
 * | what | rule |
 * |---|---|
 * | an offer's scopes | the caller has all of them; of a hidden offer not even its scopes are reported |
 * | what is seen | offers and views. States only of capabilities, which are declared to publish theirs |
 * | a read | writes nothing and starts nothing: an actor that has not begun is seen as it would begin |
 * | a failure while access is checked | the call fails |
 */
export interface Address {
  readonly id: ActorId;
  /** The handle that it is addressed by. */
  readonly handle?: string;
}

/** The actor of a kind that a caller means by a key, or without one; undefined: none that this caller may address. */
export function addressOf(behaviour: Behaviour, viewer: Viewer, key: string | undefined): Address | undefined {
  if (isByHandle(behaviour, viewer)) return isHandle(key) ? { id: handleActor(behaviour.kind, key), handle: key } : undefined;
  const id = rootActor(behaviour, viewer);
  if (id === undefined || (key !== undefined && !isKeyOf(id, key))) return undefined;
  return { id };
}

/** Whether only a handle says which actor of the kind stands for this caller. */
export const isByHandle = ({ per }: Behaviour, { principal }: Viewer): boolean =>
  per === "handle" || (per === "user" && principal === undefined);

/**
 * The actor that a link by argument leads to with this key; undefined: none that this caller may address. `isChosen`: its author chose the
 * key for this caller, as `to` would.
 */
export function linkedActor(behaviour: Behaviour, viewer: Viewer, key: string, isChosen: boolean): ActorId | undefined {
  const { kind, per } = behaviour;
  if (!isChosen && per !== undefined && per !== "link") return addressOf(behaviour, viewer, key)?.id;
  const id: ActorId = `${kind}/${encodeURIComponent(key)}`;
  return isActorId(id) ? id : undefined;
}

// A key that is not well-formed text cannot be encoded.
const isKeyOf = (id: ActorId, key: string): boolean => key.isWellFormed() && id.slice(id.indexOf("/") + 1) === encodeURIComponent(key);

const MAX_KEY_BYTES = 256;

/** Keys that are hashes: of a principal (64 digits), and of a handle (32). */
const HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/;

/**
 * The key of a principal's own actor: itself, or its SHA-256 if it is too long or not well-formed. A principal that looks like the hash of
 * a handle or of another principal is hashed too, or it would get that one's actor. Hashes have no prefix, so that stored actors are
 * still found.
 */
function keyOfPrincipal(principal: string): string {
  const fits = principal.isWellFormed() && principal !== "" && utf8Length(principal) <= MAX_KEY_BYTES && !HASH.test(principal);
  return encodeURIComponent(fits ? principal : sha256Hex(JSON.stringify(principal)));
}

/** The actor of a root kind that stands for this viewer; undefined: only a handle could say which. */
export function rootActor(behaviour: Behaviour, viewer: Viewer): ActorId | undefined {
  if (behaviour.per === "shared") return `${behaviour.kind}/main`;
  if (behaviour.per !== "user" || viewer.principal === undefined) return undefined;
  return `${behaviour.kind}/${keyOfPrincipal(viewer.principal)}`;
}

/** Whether the viewer is a session of an anonymous client: once that is over, no one can come back as it. */
export function isPassing({ principal }: Viewer): boolean {
  return principal?.startsWith("session|") === true;
}

/**
 * A handle is `h_` and the base64url of 16 random bytes, the minute it was minted in, and 12 bytes of an HMAC over these, the kind and
 * the starter's principal. Minting stores nothing, so it cannot fill a disk. The first call that does something starts the actor, whose
 * existence is the proof from then on: the secret only matters for handles that were never used, and by default is new in each process.
 */
const HANDLE = /^h_[A-Za-z0-9_-]{43}$/;
const MINUTE = 60_000;

function proofOf(secret: Uint8Array, kind: string, principal: string | undefined, body: Uint8Array): Uint8Array {
  return hmacSha256(secret, JSON.stringify([kind, principal ?? null]), body).subarray(0, 12);
}

/** Mints a handle for a kind, bound to the principal where there is one. `random` is 16 bytes in hex. */
export function mintHandle(secret: Uint8Array, kind: string, principal: string | undefined, now: number, random: string): string {
  const bytes = new Uint8Array(32);
  bytes.set(fromHex(random).subarray(0, 16));
  new DataView(bytes.buffer).setUint32(16, Math.floor(now / MINUTE));
  bytes.set(proofOf(secret, kind, principal, bytes.subarray(0, 20)), 20);
  return `h_${base64urlOf(bytes)}`;
}

export function isHandle(text: unknown): text is string {
  return typeof text === "string" && HANDLE.test(text);
}

/** When a handle without an actor was minted, in milliseconds since 1970. Undefined: not here, or not for this principal. */
export function mintedAt(secret: Uint8Array, kind: string, principal: string | undefined, handle: string): number | undefined {
  const bytes = fromBase64(handle.slice(2));
  const body = bytes.subarray(0, 20);
  if (!sameBytes(bytes.subarray(20), proofOf(secret, kind, principal, body))) return undefined;
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(16) * MINUTE;
}

/** The actor behind a handle. Its id is a hash, so that ids in a log or a chain are no handles. */
export function handleActor(kind: string, handle: string): ActorId {
  return `${kind}/${sha256Hex(handle).slice(0, 32)}`;
}

export type Refused = Extract<Reply, { refused: unknown }>;

/** There is no such offer for this viewer. A hidden offer answers like one that never was (law 3). */
export const unknownOffer: Refused = { refused: { code: "UNKNOWN", message: "There is nothing of this name." } };

export function refused(code: string, message: string): Refused {
  return { refused: { code, message } };
}

/** Whether a caller lacks a scope. */
export function lacksScope(wanted: readonly string[], { scopes }: Viewer): boolean {
  return wanted.length > 0 && missingScopes(wanted, scopes).length > 0;
}

export function scopeRefusal(wanted: readonly string[], { scopes: held }: Viewer): Refused {
  const scopes = missingScopes(wanted, held);
  return { refused: { code: "SCOPE", message: missingScopesMessage(scopes), data: { scopes } } };
}
