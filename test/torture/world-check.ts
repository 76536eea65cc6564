/** Checks the MUD from its store alone: every item is in exactly one place, every player in one room. */
import assert from "node:assert/strict";
import type { Json, Message, Store } from "../../src/core/contract/index.ts";
import { stateFrom } from "../../src/core/chain/index.ts";
import type { World } from "../../examples/mud/world/world.ts";
import { misplaced as misplacedIn } from "../mud-items.ts";
import { at, isJsonObject } from "../wire.ts";

const MANY = 1_000;

/** The item that a message carries between actors: until it arrives, it is in no state. */
function carriedBy({ action, args }: Message): string | undefined {
  const item = (of: unknown): string | undefined => (typeof of === "string" && of !== "" ? of : undefined);
  const back = (done: boolean): string | undefined =>
    at(args, "reply", "ok", "done") === done ? item(at(args, "reply", "ok", "ticket", "item")) : undefined;
  switch (action) {
    case "gain":
      return item(at(args, "ticket", "item"));
    case "homecoming":
      return item(at(args, "item"));
    case "released":
      return back(true);
    case "gained":
    case "received":
      return back(false);
    default:
      return undefined;
  }
}

/** Items that are not in exactly one place on the disk; undelivered messages count as places. */
export async function misplaced(store: Store, world: World): Promise<readonly string[]> {
  const players = (await store.list({ kind: "player", limit: MANY })).map(({ id }) => id);
  const undelivered = await store.undelivered(MANY * 10);
  return misplacedIn(world, {
    state: (id) => stateIn(store, id),
    players,
    underWay: undelivered.flatMap(({ message }) => {
      const item = carriedBy(message);
      return item === undefined ? [] : [[item, `${message.action} ${message.from ?? ""} → ${message.to}`] as const];
    }),
  });
}

async function stateIn(store: Store, id: `${string}/${string}`): Promise<Json | undefined> {
  const stored = await store.load(id);
  return stored === undefined ? undefined : stateFrom(stored.tail).state;
}

/** When no message is undelivered: no caller waits, there are no dead letters, and each player is in the room of its state. */
export async function checkRest(store: Store, world: World): Promise<void> {
  assert.deepEqual(await store.undelivered(10), []);
  assert.deepEqual(await store.letters(10), []);
  assert.deepEqual(await misplaced(store, world), []);
  const rooms = new Map<string, string[]>();
  for (const id of Object.keys(world.rooms)) {
    const occupants = at(await stateIn(store, `room/${id}`), "occupants");
    for (const player of isJsonObject(occupants) ? Object.keys(occupants) : []) rooms.set(player, [...(rooms.get(player) ?? []), id]);
  }
  for (const { id } of await store.list({ limit: MANY })) {
    const stored = await store.load(id);
    assert.deepEqual(stored?.row.pending, {}, `no caller waits for ${id}`);
    if (!id.startsWith("player/")) continue;
    const room = String(at(await stateIn(store, id), "room"));
    const found = rooms.get(id) ?? [];
    assert.ok(found.length === 0 || (found.length === 1 && found[0] === room), `${id} is in ${room}; rooms know it in ${found.join(", ")}`);
  }
}
