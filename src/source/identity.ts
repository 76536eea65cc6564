import { sha256Hex, utf8Length } from "../platform/index.ts";
import type { ActorId, Behaviour, Viewer } from "../contract/index.ts";

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
