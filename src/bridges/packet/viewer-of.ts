import type { Caller, Viewer } from "../../core/contract/index.ts";
import { PacketError } from "./packet-error.ts";
import type { PacketContext } from "./packet.ts";

/** Lets a connection speak for users other than its own. */
export const ACT_AS = "packets:act-as";

/** A guest that names no user is its session: actors belong to somebody. */
export function guestOf(viewer: Viewer, { session_id }: PacketContext): Viewer {
  return viewer.principal !== undefined || session_id === undefined ? viewer : { ...viewer, principal: `guest|session|${session_id}` };
}

/**
 * Who is behind a packet. With authentication `user_id` is the caller's own principal, or is left away; without, it names a
 * guest, whose actors are no authenticated user's. Throws `unauthorized`.
 */
export function viewerOf({ principal, scopes, claims }: Caller, { user_id }: PacketContext): Viewer {
  if (principal === undefined) return user_id === undefined ? { scopes } : { principal: `guest|${user_id}`, scopes };
  // The claims are the caller's own, not those of the user it acts for.
  if (user_id === undefined || user_id === principal) return { principal, scopes, ...(claims === undefined ? {} : { claims }) };
  if (scopes.includes(ACT_AS)) return { principal: user_id, scopes: scopes.filter((scope) => scope !== ACT_AS) };
  throw new PacketError(
    "unauthorized",
    `This connection is ${JSON.stringify(principal)} and may not speak for others: leave user_id away, or get the scope ${ACT_AS}.`,
    { principal },
  );
}
