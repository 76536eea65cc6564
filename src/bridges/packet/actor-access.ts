import type { Json, Snapshot, Viewer } from "../../core/contract/index.ts";
import { sha256Hex, utf8Length } from "../../core/platform/index.ts";
import type { ActorState, Acts } from "./capability.ts";
import { jsonCopy } from "./packet-json.ts";
import { ID_BYTES, PacketError } from "./packet.ts";

/** An owned actor is visible to its owner; one without an owner to everyone, if its capability is shared. */
export const isVisibleTo = ({ owner }: Snapshot, { shared }: Acts, { principal }: Viewer): boolean =>
  owner === undefined ? shared : owner === principal;

/** It is there, and there for that viewer. */
export const isAliveFor = (snapshot: Snapshot | undefined, does: Acts, viewer: Viewer): snapshot is Snapshot =>
  snapshot !== undefined && snapshot.status !== "stopped" && isVisibleTo(snapshot, does, viewer);

/** The actor that is somebody's where none is named: nobody else may take its name, and so keep its owner out. */
export function isReservedForOther(capability: string, { shared }: Acts, { principal }: Viewer, actor_id: string): boolean {
  return !shared && isOtherUsersDefaultId(capability, principal ?? "", actor_id);
}

/** One answer, whether there is none or it is another user's. */
export const actorNotFound = (actor_id: string): PacketError =>
  new PacketError("actor_not_found", `There is no actor ${JSON.stringify(actor_id)} of yours: name another.`, { actor_id });

/** What is known of it, as a copy: nothing done to it reaches the actor. */
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

/** A copy, as JSON. */
export const toJson = (value: unknown): Json => jsonCopy(value) ?? null;

const HASH_PREFIX = "sha256|";

/** The actor that is a user's where none is named; where both together are too long for an id, the user by a hash. */
export function defaultActorId(capability: string, principal: string): string {
  const name = `${capability}:${principal}`;
  // Or a principal of that form would have the name of the one it is the hash of.
  return utf8Length(name) <= ID_BYTES && !principal.startsWith(HASH_PREFIX) ? name : `${capability}:${HASH_PREFIX}${sha256Hex(principal)}`;
}

/** It would be somebody's where none is named, and not that user's. */
export const isOtherUsersDefaultId = (capability: string, principal: string, actor_id: string): boolean =>
  actor_id.startsWith(`${capability}:`) && actor_id !== defaultActorId(capability, principal);
