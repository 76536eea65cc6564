import { winChance } from "../rules/fight.ts";
import { reach } from "../rules/passage.ts";
import type { Problem } from "./problem.ts";
import { exitsOf, homesOf, isPrecious, questAt, roomOf, type World } from "./world.ts";

/** A fight with a lower chance counts as lost. */
const LEAST_CHANCE = 0.1;
const TRIALS = 100;

/** What a patient hero can reach. It grows until nothing more can be reached. */
interface Reached {
  readonly rooms: ReadonlySet<string>;
  readonly items: readonly string[];
  readonly deeds: readonly string[];
}

/** The reasons why a world cannot be finished from any state; empty if it can. */
export function checkFinish(world: World): readonly Problem[] {
  const problems: Problem[] = [];
  const got = explore(world);
  for (const [id] of Object.entries(world.rooms)) {
    if (!got.rooms.has(id))
      problems.push({ path: ["rooms", id], text: `the room "${id}" cannot be reached: ${whyNoRoom(world, id, got)}` });
  }
  for (const [id, home] of homesOf(world)) {
    if (!got.rooms.has(home.room) || got.items.includes(id)) continue;
    problems.push({ path: ["items", id], text: `the item "${id}" cannot be had: ${whyNoItem(world, id, got)}` });
  }
  for (const id of Object.keys(world.monsters)) {
    const room = Object.entries(world.rooms).find(([, one]) => one.monster === id)?.[0];
    if (got.deeds.includes(id) || room === undefined || !got.rooms.has(room)) continue;
    problems.push({
      path: ["monsters", id],
      text: `the monster "${id}" cannot be beaten: with all that can be had, less than one fight in ten is won. Make it weaker, or add arms.`,
    });
  }
  problems.push(...checkWaysBack(world), ...checkLoad(world));
  for (const id of Object.keys(world.quests)) {
    if (![...got.rooms].some((room) => questAt(world, room) === id)) {
      problems.push({
        path: ["quests", id],
        text: `the quest "${id}" is offered nowhere one can be: write "quest: ${id}" in a room or a character that can be reached.`,
      });
    }
  }
  return problems;
}

function explore(world: World): Reached {
  let got: Reached = { rooms: new Set(), items: [], deeds: [] };
  while (true) {
    const rooms = reach(world, world.start, got);
    const lit = got.items.some((item) => world.items[item]?.light === true);
    const items = new Set(got.items);
    const deeds = new Set(got.deeds);
    for (const [item, home] of homesOf(world)) {
      if (!rooms.has(home.room)) continue;
      const room = roomOf(world, home.room);
      const seen = lit || !room.dark || room.items.some((one) => world.items[one]?.light === true);
      if (home.place === "floor" && seen) items.add(item);
      if (home.place === "chest" && seen && (room.chest?.key === undefined || got.items.includes(room.chest.key))) items.add(item);
      if (home.place === "monster" && room.monster !== undefined && got.deeds.includes(room.monster) && seen) items.add(item);
    }
    for (const id of rooms) {
      const { monster } = roomOf(world, id);
      if (monster !== undefined && !deeds.has(monster) && winChance(world, monster, [...items], TRIALS) >= LEAST_CHANCE) deeds.add(monster);
    }
    const next = { rooms, items: [...items], deeds: [...deeds] };
    if (next.rooms.size === got.rooms.size && next.items.length === got.items.length && next.deeds.length === got.deeds.length) return next;
    got = next;
  }
}

function whyNoRoom(world: World, id: string, got: Reached): string {
  const into = Object.entries(world.rooms).flatMap(([from, room]) =>
    exitsOf(room).flatMap(([direction, exit]) => (exit.to === id ? [{ from, direction, exit }] : [])),
  );
  if (into.length === 0) return `no exit leads to it: add one.`;
  const near = into.find(({ from }) => got.rooms.has(from));
  if (near === undefined)
    return `it is only entered from ${into.map(({ from }) => `"${from}"`).join(", ")}, which cannot be reached either.`;
  const { from, direction, exit } = near;
  if (exit.key !== undefined && !got.items.includes(exit.key))
    return `the exit ${direction} of "${from}" needs "${exit.key}", which cannot be had before: put it elsewhere.`;
  return `the exit ${direction} of "${from}" needs "${exit.after ?? ""}" defeated, which cannot be done before: make it weaker or put it elsewhere.`;
}

function whyNoItem(world: World, id: string, got: Reached): string {
  const home = homesOf(world).get(id);
  const room = home === undefined ? undefined : world.rooms[home.room];
  if (home === undefined || room === undefined) return "it is nowhere.";
  const lit = got.items.some((item) => world.items[item]?.light === true);
  if (room.dark && !lit) return `"${home.room}" is dark and no light can be had before: put a light elsewhere.`;
  if (home.place === "chest")
    return `its chest in "${home.room}" needs "${room.chest?.key ?? ""}", which cannot be had before: put that elsewhere.`;
  return `"${room.monster ?? ""}" in "${home.room}" carries it and cannot be beaten: make it weaker, or put the item elsewhere.`;
}

// Items return home and heroes wake up at the start, so a hero can be stuck only in a room without a free way back.
function checkWaysBack(world: World): readonly Problem[] {
  const free = new Set([world.start]);
  for (let before = 0; before !== free.size;) {
    before = free.size;
    for (const [id, room] of Object.entries(world.rooms)) {
      if (exitsOf(room).some(([, exit]) => exit.key === undefined && exit.after === undefined && free.has(exit.to))) free.add(id);
    }
  }
  return Object.keys(world.rooms)
    .filter((id) => !free.has(id))
    .map((id) => ({
      path: ["rooms", id, "exits"],
      text: `whoever is in "${id}" may be locked in: give it a way back to "${world.start}" that needs no key and no deed.`,
    }));
}

function checkLoad(world: World): readonly Problem[] {
  const needed = Object.keys(world.items).filter((id) => isPrecious(world, id)).length;
  const arms = ["light", "attack", "armor"] as const;
  const extra = arms.filter((what) => Object.values(world.items).some((item) => item[what] !== false && item[what] !== 0)).length;
  if (needed + extra <= world.hero.carry) return [];
  return [
    {
      path: ["hero", "carry"],
      text: `a hero carries ${world.hero.carry} things, but keys, quest things, a light and arms are ${needed + extra}: raise "carry".`,
    },
  ];
}
