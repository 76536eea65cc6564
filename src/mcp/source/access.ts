import { sha256Hex, utf8Length } from "../../core/platform/index.ts";
import type { ActorId, Behaviour, Viewer } from "../../core/contract/index.ts";
import { missingScopes, missingScopesMessage } from "../../core/contract/internal.ts";
import { handleActor, isHandle } from "./handle.ts";
import type { Refused } from "./offers.ts";

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
 * | `user`, without one; `handle` | the actor of a handle | whoever has the handle; of an actor with an owner, its owner alone |
 * | `link`, absent | none by its key | whoever may address an actor whose links lead there now |
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

/** Only a handle says which actor of the kind stands for this caller. */
export const isByHandle = ({ per }: Behaviour, { principal }: Viewer): boolean =>
  per === "handle" || (per === "user" && principal === undefined);

// A key that is no well-formed text has no encoding.
const isKeyOf = (id: ActorId, key: string): boolean => key.isWellFormed() && id.slice(id.indexOf("/") + 1) === encodeURIComponent(key);

const MAX_KEY_BYTES = 256;

/** Keys that are hashes: of a principal (64 digits), and of a handle (32). */
const HASH = /^(?:[0-9a-f]{32}|[0-9a-f]{64})$/;

/**
 * The key of a principal's own actor: itself, or its SHA-256 where it is too long or no well-formed text. A principal that looks like
 * the hash of a handle or of another principal is hashed, too, or it would meet the actor of that one. Hashes have no prefix: actors
 * that are stored under them are still found.
 */
function keyOfPrincipal(principal: string): string {
  const fits = principal.isWellFormed() && principal !== "" && utf8Length(principal) <= MAX_KEY_BYTES && !HASH.test(principal);
  return encodeURIComponent(fits ? principal : sha256Hex(JSON.stringify(principal)));
}

/** The actor of a root kind that stands for this viewer; undefined where only a handle could say which. */
export function rootActor(behaviour: Behaviour, viewer: Viewer): ActorId | undefined {
  if (behaviour.per === "shared") return `${behaviour.kind}/main`;
  if (behaviour.per !== "user" || viewer.principal === undefined) return undefined;
  return `${behaviour.kind}/${keyOfPrincipal(viewer.principal)}`;
}

/** Stands for a session of a client that told no name: when that is over, nobody can come back as it. */
export function isPassing({ principal }: Viewer): boolean {
  return principal?.startsWith("session|") === true;
}

/** Whether a caller lacks a scope. On the path of every call, where hardly any offer needs one. */
export function lacksScope(wanted: readonly string[], { scopes }: Viewer): boolean {
  for (const one of wanted) if (!scopes.includes(one)) return true;
  return false;
}

/** How a caller who lacks scopes is refused. */
export function scopeRefusal(wanted: readonly string[], { scopes: held }: Viewer): Refused {
  const scopes = missingScopes(wanted, held);
  return { refused: { code: "SCOPE", message: missingScopesMessage(scopes), data: { scopes } } };
}
