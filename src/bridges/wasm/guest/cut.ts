/**
 * A call that is cut short: the actor was restarted or stopped, its caller has left, its time is over.
 *
 * C3: its turn is dropped, and all it gathered. What it did meanwhile lasts all the same, so a message of its own tells the
 * actor, which leaves an event with the record and takes the children that were born. Channels are closed at their other ends.
 */
import { type ActorId, isJsonObject, type Json } from "../../../core/contract/index.ts";
import type { CallHost } from "../host/call-host.ts";
import type { GuestState } from "../guest-state.ts";
import { lives } from "../host/target.ts";
import { isOwn } from "./arguments.ts";
import type { Handler } from "./conversation.ts";
import { isGuestState } from "./is-guest-state.ts";
import { recordOf } from "./record.ts";
import type { Entered, Room } from "./room.ts";
import { refused, type Visit } from "./visit.ts";

const MOST_CHILDREN = 1_000;

/** Never rejects: where the engine or a store fails now, there is nobody left to tell. */
export async function cutShort(room: Room, at: Entered, visit: Visit, hosts: readonly CallHost[], error: unknown): Promise<void> {
  try {
    // What was asked is answered, or is given up with the call.
    await Promise.all(hosts.map((host) => host.settled()));
    const did = hosts.flatMap(({ lasting }) => lasting);
    if (did.length === 0) return;
    await room.company.closeCut(
      at.self,
      hosts.flatMap(({ gathered }) => [...gathered.tried.channels]),
    );
    const children = [...new Set(hosts.flatMap(({ gathered }) => [...gathered.tried.children]))];
    if (!(await lives({ engine: room.engine() }, at.self))) return await stopAll(room, at.self, children);
    const message = error instanceof Error ? error.message : String(error);
    const record = await recordOf(visit, { did, end: "lost", message }, (bytes) => room.library.put(bytes));
    await room.engine().send({ to: at.self, action: "cut", args: { children, record } });
  } catch {
    // Said above.
  }
}

/** Of a parent that never began, or has ended while they were born. */
async function stopAll(room: Room, parent: ActorId, children: readonly ActorId[]): Promise<void> {
  for (const [, id] of await livingOf(room, parent, children)) await room.engine().stop(id, `its parent ${parent} has stopped`);
}

/**
 * Children that its state does not have: a process ended in the call that started them. None if this life has
 * looked in this process. Never rejects.
 */
export async function unlisted(room: Room, at: Entered, { children }: GuestState): Promise<readonly (readonly [string, ActorId])[]> {
  if (room.company.hasLooked(at)) return [];
  const listed = new Set(Object.values(children));
  try {
    const ids = (await room.engine().children?.(at.self)) ?? [];
    return await livingOf(room, at.self, ids.filter((id) => !listed.has(id)).slice(0, MOST_CHILDREN));
  } catch {
    // The next call looks.
    return [];
  }
}

async function livingOf(room: Room, parent: ActorId, ids: readonly ActorId[]): Promise<readonly (readonly [string, ActorId])[]> {
  const living: (readonly [string, ActorId])[] = [];
  for (const id of ids) {
    const now = await room.engine().read(id);
    if (now?.status !== "stopped" && isGuestState(now?.state) && now.state.parent === parent) living.push([now.state.id, id]);
  }
  return living;
}

/** Told twice, or of a call that was tried again and has kept its children, it changes nothing but its chain. */
export const cut: Handler = (room, { message, state, self }) => {
  const { args } = message;
  if (!isOwn(message) || !isJsonObject(args)) return refused("INVALID", "Only who runs an actor tells it what a call left behind.");
  const { children, record = null } = args;
  return async () => {
    const ids = idsIn(children).filter((id) => !Object.values(state.children).includes(id));
    const born = await livingOf(room, self, ids);
    const next: GuestState = { ...state, children: { ...state.children, ...Object.fromEntries(born) } };
    return { state: born.length === 0 ? state : next, record };
  };
};

const idsIn = (given: Json | undefined): readonly ActorId[] =>
  Array.isArray(given) ? given.filter(isGuestId).slice(0, MOST_CHILDREN) : [];

const isGuestId = (value: Json): value is ActorId => typeof value === "string" && value.startsWith("guest/");
