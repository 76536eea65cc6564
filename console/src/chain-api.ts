// Owns: what several pages ask of a chain. Does not own: requests (api.ts).
import type { StateAt, StateDiff } from "../../src/bridges/console/shapes.ts";
import type { ActorId } from "../../src/core/contract/index.ts";
import { actorPath, get } from "./api.ts";

/** What an event changed. Before the first one there is no state: all of it is new. */
export async function changeOf(actor: ActorId, seq: number, signal: AbortSignal): Promise<StateDiff> {
  if (seq > 1) return await get<StateDiff>(`${actorPath(actor)}/diff`, { from: seq - 1, to: seq }, signal);
  const { state } = await get<StateAt>(`${actorPath(actor)}/state`, { at: seq }, signal);
  return { actor, from: 0, to: seq, differences: [{ path: "", after: state }] };
}
