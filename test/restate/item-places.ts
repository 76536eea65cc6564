import { homesOf, type World } from "../../examples/mud/world/world.ts";
import type { Engine } from "../../src/contract/index.ts";
import { at } from "../wire.ts";

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

/** Where each item of the world is, as its rooms and players say; one that is on its way from one to another is nowhere. */
async function itemPlaces(engine: Engine, world: World): Promise<ReadonlyMap<string, readonly string[]>> {
  const homes = homesOf(world);
  const places = new Map<string, string[]>([...homes.keys()].map((item) => [item, []]));
  const put = (items: readonly string[], place: string): void => {
    for (const item of items) places.set(item, [...(places.get(item) ?? []), place]);
  };
  for (const id of Object.keys(world.rooms)) {
    const state = (await engine.read(`room/${id}`))?.state;
    if (state === undefined) for (const [item, home] of homes) put(home.room === id ? [item] : [], `${id}, untouched`);
    for (const where of ["floor", "chest", "monsterItems"]) put(texts(at(state, "stage", where)), `${id} ${where}`);
    put(texts(at(state, "resting")), `${id} resting`);
  }
  for (const { id } of await engine.list({ kind: "player", limit: 1_000 })) put(texts(at((await engine.read(id))?.state, "items")), id);
  return places;
}

/** Items that are not in exactly one place, with where they are. */
export async function misplaced(engine: Engine, world: World): Promise<readonly string[]> {
  return [...(await itemPlaces(engine, world))]
    .filter(([, places]) => places.length !== 1)
    .map(([item, places]) => `${item}: ${places.join("; ") || "nowhere"}`);
}
