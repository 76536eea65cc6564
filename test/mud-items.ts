import { homesOf, type World } from "../examples/mud/world/world.ts";
import type { ActorId } from "../src/core/contract/index.ts";
import { at } from "./wire.ts";

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

export interface Places {
  /** Undefined if there is no such actor. */
  readonly state: (id: ActorId) => Promise<unknown>;
  readonly players: readonly ActorId[];
  /** Items in transit between two actors, and where. Absent if there are none. */
  readonly underWay?: readonly (readonly [item: string, place: string])[];
}

/** Items of the world that are not in exactly one place, with their places according to rooms and players. */
export async function misplaced(world: World, { state, players, underWay = [] }: Places): Promise<readonly string[]> {
  const homes = homesOf(world);
  const places = new Map<string, string[]>([...homes.keys()].map((item) => [item, []]));
  const put = (items: readonly string[], place: string): void => {
    for (const item of items) places.set(item, [...(places.get(item) ?? []), place]);
  };
  for (const id of Object.keys(world.rooms)) {
    const room = await state(`room/${id}`);
    if (room === undefined) for (const [item, home] of homes) put(home.room === id ? [item] : [], `${id}, untouched`);
    for (const where of ["floor", "chest", "monsterItems"]) put(texts(at(room, "stage", where)), `${id} ${where}`);
    put(texts(at(room, "resting")), `${id} resting`);
  }
  for (const id of players) put(texts(at(await state(id), "items")), id);
  for (const [item, place] of underWay) put([item], place);
  return [...places].filter(([, found]) => found.length !== 1).map(([item, found]) => `${item}: ${found.join("; ") || "nowhere"}`);
}
