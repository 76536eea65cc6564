import { itemOf, questAt, roomOf, type World } from "../world/world.ts";

/** What changes in a player. The rules write to the hero they are given and to nothing else. */
export interface HeroState {
  room: string;
  health: number;
  items: string[];
  /** Everything that was ever carried. */
  found: string[];
  /** Monsters defeated, by this one's own hand or beside it. */
  deeds: string[];
  quests: Record<string, "active" | "completed">;
  /** Rooms that were entered. */
  visited: string[];
  ended: boolean;
  deaths: number;
}

export function newHero(world: World): HeroState {
  return {
    room: world.start,
    health: world.hero.health,
    items: [],
    found: [],
    deeds: [],
    quests: {},
    visited: [world.start],
    ended: false,
    deaths: 0,
  };
}

/** Takes an item in; the sentence says why not. */
export function gain(world: World, hero: HeroState, item: string): string | undefined {
  if (hero.items.length >= world.hero.carry) return `Your hands are full: you carry ${hero.items.length} things. Drop one first.`;
  hero.items.push(item);
  if (!hero.found.includes(item)) hero.found.push(item);
  return undefined;
}

/** Gives an item away; false: it is not carried. */
export function lose(hero: HeroState, item: string): boolean {
  const index = hero.items.indexOf(item);
  if (index === -1) return false;
  hero.items.splice(index, 1);
  return true;
}

/** Gives back health, never more than there can be; returns how much. */
export function heal(world: World, hero: HeroState, health: number): number {
  const before = hero.health;
  hero.health = Math.min(world.hero.health, before + health);
  return hero.health - before;
}

/** A blow. Who dies wakes up whole, with empty hands: `lost` must be sent home. */
export function suffer(world: World, hero: HeroState, damage: number): { readonly died: boolean; readonly lost: readonly string[] } {
  hero.health -= damage;
  if (hero.health > 0) return { died: false, lost: [] };
  hero.health = world.hero.health;
  hero.deaths += 1;
  return { died: true, lost: hero.items.splice(0) };
}

/** Enters a room; the sentence says that wounds closed. */
export function enter(world: World, hero: HeroState, roomId: string): string | undefined {
  hero.room = roomId;
  if (!hero.visited.includes(roomId)) hero.visited.push(roomId);
  if (!roomOf(world, roomId).rest || hero.health >= world.hero.health) return undefined;
  hero.health = world.hero.health;
  return "You rest a while, and your wounds close.";
}

export type QuestState = "offered" | "active" | "completed";

/** The quest that matters to this hero here: one in hand, else one on offer, else the last one done. */
export function questOf(
  world: World,
  hero: Pick<HeroState, "room" | "quests">,
): { readonly id: string; readonly state: QuestState } | undefined {
  const active = Object.keys(hero.quests).find((id) => hero.quests[id] === "active");
  const offered = questOnOffer(world, hero);
  if (offered !== undefined) return { id: offered, state: "offered" };
  if (active !== undefined) return { id: active, state: "active" };
  const done = Object.keys(hero.quests).at(-1);
  return done === undefined ? undefined : { id: done, state: "completed" };
}

/** The quest this hero could take up here. */
export function questOnOffer(world: World, hero: Pick<HeroState, "room" | "quests">): string | undefined {
  const quest = questAt(world, hero.room);
  return quest === undefined || Object.hasOwn(hero.quests, quest) ? undefined : quest;
}

/** Done and still to do, as a model reads it. */
export function questProgress(
  world: World,
  hero: Pick<HeroState, "found" | "deeds">,
  id: string,
): { readonly done: readonly string[]; readonly open: readonly string[] } {
  const quest = world.quests[id];
  const done: string[] = [];
  const open: string[] = [];
  for (const item of quest?.find ?? []) (hero.found.includes(item) ? done : open).push(`find the ${itemOf(world, item).name}`);
  for (const monster of quest?.defeat ?? [])
    (hero.deeds.includes(monster) ? done : open).push(`defeat the ${world.monsters[monster]?.name ?? monster}`);
  return { done, open };
}

/** The quests that are done. */
export function completedOf({ quests }: Pick<HeroState, "quests">): string[] {
  return Object.keys(quests).filter((id) => quests[id] === "completed");
}

/** Whether the ending comes to this hero on entering that room: everything carried goes home then. */
export function meetsEnding(
  world: World,
  roomId: string,
  hero: { readonly ended: boolean; readonly completed: readonly string[] },
): boolean {
  return !hero.ended && roomId === world.ending.room && hero.completed.includes(world.ending.quest);
}

/** What comes to an end now: quests that are done, and the world's ending. `home` are things that return where they belong. */
export function advance(world: World, hero: HeroState): { readonly texts: readonly string[]; readonly home: readonly string[] } {
  const texts: string[] = [];
  for (const [id, state] of Object.entries(hero.quests)) {
    if (state !== "active" || questProgress(world, hero, id).open.length > 0) continue;
    hero.quests[id] = "completed";
    texts.push(`Quest completed: ${world.quests[id]?.completed ?? id}`);
  }
  if (!meetsEnding(world, hero.room, { ended: hero.ended, completed: completedOf(hero) })) return { texts, home: [] };
  hero.ended = true;
  texts.push(`*** ${world.ending.text} ***`);
  // The next hero needs it all.
  return { texts, home: hero.items.splice(0) };
}

/** Takes up the quest on offer here; undefined: there is none. */
export function accept(world: World, hero: HeroState): string | undefined {
  const id = questOnOffer(world, hero);
  const quest = id === undefined ? undefined : world.quests[id];
  if (id === undefined || quest === undefined) return undefined;
  hero.quests[id] = "active";
  return `Quest accepted: ${quest.name}. ${quest.active}`;
}
