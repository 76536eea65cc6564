import type { Json, Snapshot, Viewer } from "../contract/index.ts";
import type { ActorState, Acts } from "./capability.ts";
import { PacketError } from "./packet-error.ts";
import { isOthersName } from "./own-name.ts";
import { jsonCopy } from "./packet-json.ts";

/** Whose it is may see it. What is nobody's is everybody's only where it was meant to be. */
export const seenBy = ({ owner }: Snapshot, { shared, own }: Acts, { principal }: Viewer): boolean =>
  owner === undefined ? shared || own === true : owner === principal;

/** It is there, and there for that viewer. */
export const livesFor = (snapshot: Snapshot | undefined, does: Acts, viewer: Viewer): snapshot is Snapshot =>
  snapshot !== undefined && snapshot.status !== "stopped" && seenBy(snapshot, does, viewer);

/** An actor that was there without capabilities and stands for its viewers by its key: whoever names another's finds nothing. */
export function standsFor({ own, behaviour: { per }, defaultKey }: Acts, viewer: Viewer, actor_id: string): boolean {
  return own !== true || (per !== "user" && per !== "shared") || defaultKey?.(viewer) === actor_id;
}

/** The actor that is somebody's where none is named: nobody else may take its name, and so keep its owner out. */
export function isAnothers(capability: string, { shared, own }: Acts, { principal }: Viewer, actor_id: string): boolean {
  return !shared && own !== true && isOthersName(capability, principal ?? "", actor_id);
}

/** `taken`: a message could not create it either. */
export const notFound = (actor_id: string, taken = false): PacketError => {
  const instead = taken
    ? ", and none can begin under that name: name another"
    : ": name another, or let a message create it (create_if_missing)";
  return new PacketError("actor_not_found", `There is no actor ${JSON.stringify(actor_id)} of yours${instead}.`, { actor_id });
};

/** What is known of it, as a copy: nothing done to it reaches the actor. */
export function stateOf(capability_id: string, actor_id: string, does: Acts, snapshot: Snapshot): ActorState {
  const { state, metadata } = does.known(snapshot);
  return {
    actor_id,
    capability_id,
    state: plain(state),
    metadata: {
      created_at: new Date(metadata.created_at).toISOString(),
      last_message_at: new Date(metadata.last_message_at).toISOString(),
      message_count: metadata.message_count,
      persistence_strategy: snapshot.persistence,
    },
  };
}

/** A copy, as JSON. */
export const plain = (value: unknown): Json => jsonCopy(value) ?? null;
