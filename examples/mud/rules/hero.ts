import { itemOf, questAt, roomOf, type World } from "../world/world.ts";

/** The mutable state of a player. The rules change only the hero that they get. */
export interface HeroState {
  room: string;
  health: number;
  items: string[];
  /** All items that were ever carried. */
  found: string[];
  /** Defeated monsters, also those defeated together with others. */
  deeds: string[];
  quests: Record<string, "active" | "completed">;
  /** Visited rooms. */
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

/** Takes an item. Returns the reason if that is not possible. */
export function gain(world: World, hero: HeroState, item: string): string | undefined {
  if (hero.items.length >= world.hero.carry) return `Your hands are full: you carry ${hero.items.length} things. Drop one first.`;
  hero.items.push(item);
  if (!hero.found.includes(item)) hero.found.push(item);
  return undefined;
}

/** Removes an item. Returns false if it is not carried. */
export function lose(hero: HeroState, item: string): boolean {
  const index = hero.items.indexOf(item);
  if (index === -1) return false;
  hero.items.splice(index, 1);
  return true;
}

/** Restores health up to the maximum. Returns the amount. */
export function heal(world: World, hero: HeroState, health: number): number {
  const before = hero.health;
  hero.health = Math.min(world.hero.health, before + health);
  return hero.health - before;
}

/** Applies damage. A hero who dies gets full health and loses all items: `lost` must be sent home. */
export function suffer(world: World, hero: HeroState, damage: number): { readonly died: boolean; readonly lost: readonly string[] } {
  hero.health -= damage;
  if (hero.health > 0) return { died: false, lost: [] };
  hero.health = world.hero.health;
  hero.deaths += 1;
  return { died: true, lost: hero.items.splice(0) };
}

/** Enters a room. Returns a text if the hero was healed. */
export function enter(world: World, hero: HeroState, roomId: string): string | undefined {
  hero.room = roomId;
  if (!hero.visited.includes(roomId)) hero.visited.push(roomId);
  if (!roomOf(world, roomId).rest || hero.health >= world.hero.health) return undefined;
  hero.health = world.hero.health;
  return "You rest a while, and your wounds close.";
}

export type QuestState = "offered" | "active" | "completed";

/** The most relevant quest here: one on offer, else an active one, else the last completed one. */
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

/** The quest that can be accepted here. */
export function questOnOffer(world: World, hero: Pick<HeroState, "room" | "quests">): string | undefined {
  const quest = questAt(world, hero.room);
  return quest === undefined || Object.hasOwn(hero.quests, quest) ? undefined : quest;
}

/** The done and open steps of a quest, as texts. */
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

/** The completed quests. */
export function completedOf({ quests }: Pick<HeroState, "quests">): string[] {
  return Object.keys(quests).filter((id) => quests[id] === "completed");
}

/** Whether the hero reaches the ending by entering the room. All its items go home then. */
export function meetsEnding(
  world: World,
  roomId: string,
  hero: { readonly ended: boolean; readonly completed: readonly string[] },
): boolean {
  return !hero.ended && roomId === world.ending.room && hero.completed.includes(world.ending.quest);
}

/** Completes quests and the ending. `home` has the items that must be sent home. */
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
  // The next hero needs all items.
  return { texts, home: hero.items.splice(0) };
}

/** Accepts the quest on offer. Undefined if there is none. */
export function accept(world: World, hero: HeroState): string | undefined {
  const id = questOnOffer(world, hero);
  const quest = id === undefined ? undefined : world.quests[id];
  if (id === undefined || quest === undefined) return undefined;
  hero.quests[id] = "active";
  return `Quest accepted: ${quest.name}. ${quest.active}`;
}
