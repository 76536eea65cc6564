import { createHash } from "node:crypto";

/** A world as the rules read it: references checked, defaults filled in. Written by hand as YAML (`world.schema.json`). */
export interface World {
  readonly title: string;
  readonly welcome: string;
  readonly start: string;
  readonly hero: Hero;
  readonly rooms: Readonly<Record<string, Room>>;
  readonly items: Readonly<Record<string, Item>>;
  readonly monsters: Readonly<Record<string, Monster>>;
  readonly characters: Readonly<Record<string, Character>>;
  readonly quests: Readonly<Record<string, Quest>>;
  readonly ending: Ending;
  readonly pace: Pace;
}

export const DIRECTIONS = ["north", "south", "east", "west"] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** What everybody begins with, bare. */
export interface Hero {
  readonly health: number;
  readonly attack: number;
  readonly armor: number;
  /** How many items one can carry. */
  readonly carry: number;
}

export interface Room {
  readonly name: string;
  readonly description: string;
  /** In the order in which they are told. */
  readonly exits: Readonly<Partial<Record<Direction, Exit>>>;
  readonly items: readonly string[];
  readonly monster?: string;
  readonly chest?: Chest;
  readonly characters: readonly string[];
  readonly quest?: string;
  /** Nothing can be seen, taken or opened here without a light. */
  readonly dark: boolean;
  /** Wounds close on entering. */
  readonly rest: boolean;
}

export interface Exit {
  readonly to: string;
  /** Opens to whoever carries this item. */
  readonly key?: string;
  /** Opens to whoever has defeated this monster. */
  readonly after?: string;
  /** What one reads who cannot pass. */
  readonly shut?: string;
}

export interface Chest {
  readonly name: string;
  readonly key?: string;
  readonly items: readonly string[];
}

export interface Item {
  readonly name: string;
  readonly description: string;
  /** A sentence of the room's description while the item lies where it belongs. */
  readonly placed?: string;
  readonly light: boolean;
  /** Added to the attack of whoever carries it; of several, the best counts. */
  readonly attack: number;
  /** Taken from every blow; of several, the best counts. */
  readonly armor: number;
  /** Used up: gives back health. */
  readonly heal: number;
  /** Used up: wounds the monster that is here. */
  readonly strike: number;
  /** Added to the attack against this monster only. */
  readonly bane?: { readonly monster: string; readonly attack: number };
}

export interface Monster {
  readonly name: string;
  readonly description: string;
  readonly health: number;
  readonly attack: number;
  readonly armor: number;
  /** What it leaves behind. */
  readonly items: readonly string[];
  readonly guardian: boolean;
}

export interface Character {
  readonly name: string;
  readonly description: string;
  readonly greeting: string;
  readonly topics: Readonly<Record<string, string>>;
  readonly quest?: string;
}

export interface Quest {
  readonly name: string;
  readonly offer: string;
  readonly active: string;
  readonly completed: string;
  /** Each must have been carried once. */
  readonly find: readonly string[];
  /** Each must have been defeated once. */
  readonly defeat: readonly string[];
}

/** Reached in `room` by whoever has completed `quest`. */
export interface Ending {
  readonly quest: string;
  readonly room: string;
  readonly text: string;
}

/** How the world mends itself, so that nobody can use it up for the others. */
interface Pace {
  /** A defeated monster is back after this long. */
  readonly respawnMs: number;
  /** What was used up grows again where it belongs after this long. */
  readonly regrowMs: number;
  /** What lies where it does not belong goes home after this long. */
  readonly strayMs: number;
  /** What somebody carries who has done nothing for this long goes home. */
  readonly idleMs: number;
}

/** Where an item belongs: it always finds its way back there. */
export interface Home {
  readonly room: string;
  readonly place: "floor" | "chest" | "monster";
}

const homes = new WeakMap<World, ReadonlyMap<string, Home>>();

/** Where every item of a world belongs. */
export function homesOf(world: World): ReadonlyMap<string, Home> {
  let map = homes.get(world);
  if (map === undefined) {
    const made = new Map<string, Home>();
    for (const [id, room] of Object.entries(world.rooms)) {
      for (const item of room.items) made.set(item, { room: id, place: "floor" });
      for (const item of room.chest?.items ?? []) made.set(item, { room: id, place: "chest" });
      const monster = room.monster === undefined ? undefined : world.monsters[room.monster];
      for (const item of monster?.items ?? []) made.set(item, { room: id, place: "monster" });
    }
    map = made;
    homes.set(world, map);
  }
  return map;
}

/** The items that belong in a room, or with what lives in it. */
export function homesIn(world: World, room: string): string[] {
  return [...homesOf(world)].flatMap(([item, home]) => (home.room === room ? [item] : []));
}

const stamps = new WeakMap<World, string>();

/** Tells one world from another as far as what is stored depends on it: its rooms, what is where, quests, and how much a monster bears. */
export function stampOf(world: World): string {
  let stamp = stamps.get(world);
  if (stamp === undefined) {
    const { rooms, monsters, quests } = world;
    const told = {
      rooms: Object.entries(rooms).map(([id, { monster, chest }]) => [id, monster, chest !== undefined]),
      homes: [...homesOf(world)].map(([item, { room, place }]) => [item, room, place]),
      monsters: Object.entries(monsters).map(([id, { health }]) => [id, health]),
      quests: Object.keys(quests),
    };
    stamp = createHash("sha256").update(JSON.stringify(told)).digest("hex").slice(0, 16);
    stamps.set(world, stamp);
  }
  return stamp;
}

// A message may have been on its way while the world's file changed: what it names is told of, and is good for nothing.
const gone = (id: string) => ({ name: id.replaceAll("_", " "), description: "It is no more." });

/** The item of that id; where the world has none any more, one that is good for nothing. */
export function itemOf(world: World, id: string): Item {
  const found = Object.hasOwn(world.items, id) ? world.items[id] : undefined;
  return found ?? { ...gone(id), light: false, attack: 0, armor: 0, heal: 0, strike: 0 };
}

/** The room of that id; where the world has none any more, a bare one without a way out. */
export function roomOf(world: World, id: string): Room {
  const found = Object.hasOwn(world.rooms, id) ? world.rooms[id] : undefined;
  return found ?? { ...gone(id), exits: {}, items: [], characters: [], dark: false, rest: false };
}

/** The monster of that id; where the world has none any more, one that is no danger. */
export function monsterOf(world: World, id: string): Monster {
  const found = Object.hasOwn(world.monsters, id) ? world.monsters[id] : undefined;
  return found ?? { ...gone(id), health: 0, attack: 0, armor: 0, items: [], guardian: false };
}

export function exitsOf(room: Room): readonly (readonly [Direction, Exit])[] {
  const known: Readonly<Record<string, Exit>> = room.exits;
  return Object.keys(room.exits).flatMap((name): readonly (readonly [Direction, Exit])[] => {
    const direction = DIRECTIONS.find((one) => one === name);
    const exit = known[name];
    return direction === undefined || exit === undefined ? [] : [[direction, exit]];
  });
}

/** The quest one can take up in a room: its own, or that of a character who lives there. */
export function questAt(world: World, roomId: string): string | undefined {
  const room = world.rooms[roomId];
  if (room === undefined) return undefined;
  return room.quest ?? room.characters.map((id) => world.characters[id]?.quest).find((quest) => quest !== undefined);
}

/** Whether the item opens a door or a chest. */
export function isKey(world: World, item: string): boolean {
  return Object.values(world.rooms).some((room) => room.chest?.key === item || exitsOf(room).some(([, exit]) => exit.key === item));
}

/** Whether the world itself hangs on the item: it opens something or a quest asks for it. */
export function isPrecious(world: World, item: string): boolean {
  return isKey(world, item) || Object.values(world.quests).some((quest) => quest.find.includes(item));
}
