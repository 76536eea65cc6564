// Owns: which of a capability's actors a viewer may see, and the actor that is meant when a request names none.
//   Does not own: actors of plain kinds (kind-capability.ts).
import { actorId } from "../../core/actor/index.ts";
import type { ActorId, Json, JsonObject, Snapshot, Viewer } from "../../core/contract/index.ts";
import { sha256Hex, utf8Length } from "../../core/platform/index.ts";
import type { ActorState, Acts } from "./capability.ts";
import { jsonCopy } from "./packet-json.ts";
import { ID_BYTES, PacketError } from "./packet.ts";

/** An owned actor is visible to its owner; one without an owner to everyone, if its capability is shared. */
export const isVisibleTo = ({ owner }: Snapshot, { shared }: Acts, { principal }: Viewer): boolean =>
  owner === undefined ? shared : owner === principal;

/** The actor exists, and has not stopped. */
export const isLive = (snapshot: Snapshot | undefined): snapshot is Snapshot => snapshot !== undefined && snapshot.status !== "stopped";

/** It is live, and visible to the viewer. */
export const isLiveFor = (snapshot: Snapshot | undefined, does: Acts, viewer: Viewer): snapshot is Snapshot =>
  isLive(snapshot) && isVisibleTo(snapshot, does, viewer);

/** Each user's default id is reserved for that user. If another user could start an actor under it, the owner would be locked out. */
export function isReservedForOther(capability: string, { shared }: Acts, { principal }: Viewer, actor_id: string): boolean {
  return !shared && isOtherUsersDefaultId(capability, principal ?? "", actor_id);
}

/** The same error whether the actor does not exist or belongs to another user. */
export const actorNotFound = (actor_id: string, details: JsonObject = {}, options?: { readonly cause: unknown }): PacketError =>
  new PacketError(
    "actor_not_found",
    `There is no actor ${JSON.stringify(actor_id)} of yours: name another.`,
    { actor_id, ...details },
    options,
  );

/** Throws `PacketError` (`validation_failed`). */
export function checkedActorId(kind: string, actor_id: string): ActorId {
  try {
    return actorId(kind, actor_id);
  } catch (cause) {
    throw new PacketError("validation_failed", "actor_id must be 1 to 256 bytes of well-formed text.", { actor_id }, { cause });
  }
}

/** A copy of the actor's state, so the receiver cannot change the actor. */
export function actorStateOf(capability_id: string, actor_id: string, does: Acts, snapshot: Snapshot): ActorState {
  const { state, metadata } = does.known(snapshot);
  return {
    actor_id,
    capability_id,
    state: toJson(state),
    metadata: {
      created_at: new Date(metadata.created_at).toISOString(),
      last_message_at: new Date(metadata.last_message_at).toISOString(),
      message_count: metadata.message_count,
      persistence_strategy: snapshot.persistence,
    },
  };
}

export const toJson = (value: unknown): Json => jsonCopy(value) ?? null;

const HASH_PREFIX = "sha256|";

/** The id of a user's default actor of a capability. The user is hashed if the id would be too long. */
export function defaultActorId(capability: string, principal: string): string {
  const name = `${capability}:${principal}`;
  // A principal that looks like a hash is hashed too, so that it cannot take the id of the principal with that hash.
  return utf8Length(name) <= ID_BYTES && !principal.startsWith(HASH_PREFIX) ? name : `${capability}:${HASH_PREFIX}${sha256Hex(principal)}`;
}

/** The id has the form of a default id, but of another user. */
export const isOtherUsersDefaultId = (capability: string, principal: string, actor_id: string): boolean =>
  actor_id.startsWith(`${capability}:`) && actor_id !== defaultActorId(capability, principal);
