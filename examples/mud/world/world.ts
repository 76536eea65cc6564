import { createHash } from "node:crypto";

/** A world with checked references and all defaults. Written as YAML (`world.schema.json`). */
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

/** The values of a new hero without items. */
export interface Hero {
  readonly health: number;
  readonly attack: number;
  readonly armor: number;
  /** The most items that a hero can carry. */
  readonly carry: number;
}

export interface Room {
  readonly name: string;
  readonly description: string;
  /** In the order of the description. */
  readonly exits: Readonly<Partial<Record<Direction, Exit>>>;
  readonly items: readonly string[];
  readonly monster?: string;
  readonly chest?: Chest;
  readonly characters: readonly string[];
  readonly quest?: string;
  /** Without a light, nothing can be seen, taken or opened here. */
  readonly dark: boolean;
  /** Entering restores full health. */
  readonly rest: boolean;
}

export interface Exit {
  readonly to: string;
  /** The item that opens the exit. */
  readonly key?: string;
  /** The monster that must be defeated to pass. */
  readonly after?: string;
  /** The text for players who cannot pass. */
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
  /** A sentence in the room's description while the item lies where it belongs. */
  readonly placed?: string;
  readonly light: boolean;
  /** Added to the carrier's attack. Of several items, the best counts. */
  readonly attack: number;
  /** Subtracted from each hit. Of several items, the best counts. */
  readonly armor: number;
  /** Health that using the item restores. */
  readonly heal: number;
  /** Damage to the monster by using the item. */
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
  /** The items that it drops. */
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
  /** Items that must have been carried. */
  readonly find: readonly string[];
  /** Monsters that must have been defeated. */
  readonly defeat: readonly string[];
}

/** Reached by entering `room` after completing `quest`. */
export interface Ending {
  readonly quest: string;
  readonly room: string;
  readonly text: string;
}

/** How the world restores itself, so that players cannot use it up for others. */
interface Pace {
  /** The time until a defeated monster returns. */
  readonly respawnMs: number;
  /** The time until a consumed item grows again. */
  readonly regrowMs: number;
  /** The time until an item that lies elsewhere returns home. */
  readonly returnMs: number;
  /** The time until the items of an idle player return home. */
  readonly idleMs: number;
}

/** The place where an item belongs, and to which it returns. */
export interface Home {
  readonly room: string;
  readonly place: "floor" | "chest" | "monster";
}

const homes = new WeakMap<World, ReadonlyMap<string, Home>>();

/** The homes of all items of a world. */
export function homesOf(world: World): ReadonlyMap<string, Home> {
  let map = homes.get(world);
  if (map === undefined) {
    const byItem = new Map<string, Home>();
    for (const [id, room] of Object.entries(world.rooms)) {
      for (const item of room.items) byItem.set(item, { room: id, place: "floor" });
      for (const item of room.chest?.items ?? []) byItem.set(item, { room: id, place: "chest" });
      const monster = room.monster === undefined ? undefined : world.monsters[room.monster];
      for (const item of monster?.items ?? []) byItem.set(item, { room: id, place: "monster" });
    }
    map = byItem;
    homes.set(world, map);
  }
  return map;
}

/** The items that belong in a room, including those of its monster. */
export function homesIn(world: World, room: string): string[] {
  return [...homesOf(world)].flatMap(([item, home]) => (home.room === room ? [item] : []));
}

const stamps = new WeakMap<World, string>();

/** A hash of all that stored states depend on: rooms, homes of items, health of monsters, and quests. */
export function stampOf(world: World): string {
  let stamp = stamps.get(world);
  if (stamp === undefined) {
    const { rooms, monsters, quests } = world;
    const content = {
      rooms: Object.entries(rooms).map(([id, { monster, chest }]) => [id, monster, chest !== undefined]),
      homes: [...homesOf(world)].map(([item, { room, place }]) => [item, room, place]),
      monsters: Object.entries(monsters).map(([id, { health }]) => [id, health]),
      quests: Object.keys(quests),
    };
    stamp = createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 16);
    stamps.set(world, stamp);
  }
  return stamp;
}

// A message may name something that was removed from the world's file while it was under way. It gets a placeholder without any effect.
const removed = (id: string) => ({ name: id.replaceAll("_", " "), description: "It is no more." });

/** The item of that id, or a placeholder if it was removed from the world. */
export function itemOf(world: World, id: string): Item {
  const found = Object.hasOwn(world.items, id) ? world.items[id] : undefined;
  return found ?? { ...removed(id), light: false, attack: 0, armor: 0, heal: 0, strike: 0 };
}

/** The room of that id, or an empty one without exits if it was removed from the world. */
export function roomOf(world: World, id: string): Room {
  const found = Object.hasOwn(world.rooms, id) ? world.rooms[id] : undefined;
  return found ?? { ...removed(id), exits: {}, items: [], characters: [], dark: false, rest: false };
}

/** The monster of that id, or a harmless one if it was removed from the world. */
export function monsterOf(world: World, id: string): Monster {
  const found = Object.hasOwn(world.monsters, id) ? world.monsters[id] : undefined;
  return found ?? { ...removed(id), health: 0, attack: 0, armor: 0, items: [], guardian: false };
}

export function exitsOf(room: Room): readonly (readonly [Direction, Exit])[] {
  const known: Readonly<Record<string, Exit>> = room.exits;
  return Object.keys(room.exits).flatMap((name): readonly (readonly [Direction, Exit])[] => {
    const direction = DIRECTIONS.find((one) => one === name);
    const exit = known[name];
    return direction === undefined || exit === undefined ? [] : [[direction, exit]];
  });
}

/** The quest of a room, or of a character there. */
export function questAt(world: World, roomId: string): string | undefined {
  const room = world.rooms[roomId];
  if (room === undefined) return undefined;
  return room.quest ?? room.characters.map((id) => world.characters[id]?.quest).find((quest) => quest !== undefined);
}

/** Whether the item opens a door or a chest. */
export function isKey(world: World, item: string): boolean {
  return Object.values(world.rooms).some((room) => room.chest?.key === item || exitsOf(room).some(([, exit]) => exit.key === item));
}

/** Whether the item is needed to finish the world: as a key or for a quest. */
export function isPrecious(world: World, item: string): boolean {
  return isKey(world, item) || Object.values(world.quests).some((quest) => quest.find.includes(item));
}
