import { type Direction, exitsOf, homesOf, itemOf, monsterOf, questAt, roomOf, type World } from "../world/world.ts";
import type { HeroState } from "../rules/hero.ts";
import { winChance } from "../rules/fight.ts";
import { reach, wayTo } from "../rules/passage.ts";
import type { Act } from "./model.ts";

/** The knowledge of the bot. */
export interface Facts {
  /** Whether the hero is in a fight. */
  readonly engaged: boolean;
  readonly hero: Pick<HeroState, "room" | "health" | "items" | "deeds" | "quests" | "ended">;
  /** The place of an item. Undefined if it is carried or consumed. */
  where(item: string): { readonly room: string; readonly place: "floor" | "chest" | "monster" } | undefined;
  /** Whether the monster of a room is alive. */
  alive(room: string): boolean;
}

/** `"wait"` if nothing can be done until an item has grown again. */
export type Advice = Act | "done" | "wait";

/** The next act of a careful player, who first collects reachable items and then fights for the rest. */
export function advise(world: World, facts: Facts): Advice {
  const { hero } = facts;
  if (hero.ended) return "done";
  const here = roomOf(world, hero.room);
  const fight = here.monster !== undefined && facts.alive(hero.room) ? here.monster : undefined;
  if (facts.engaged && fight !== undefined) return fightOn(world, facts, fight);
  if (questAt(world, hero.room) !== undefined && !Object.hasOwn(hero.quests, questAt(world, hero.room) ?? ""))
    return { tool: "accept_quest" };
  const rooms = reach(world, hero.room, hero);
  const go = (room: string): Act | undefined => {
    const direction: Direction | undefined = wayTo(world, hero.room, room, hero)?.[0];
    return direction === undefined ? undefined : { tool: "move", direction };
  };
  const needed = wanted(world, facts);
  // 1. Reachable items, the nearest first.
  const near = [...rooms];
  const lit = hero.items.some((item) => itemOf(world, item).light);
  for (const room of near) {
    for (const one of needed.filter((item) => facts.where(item)?.room === room)) {
      const where = facts.where(one);
      if (where === undefined || where.place === "monster" || hero.items.length >= world.hero.carry) continue;
      const seen =
        lit ||
        !roomOf(world, room).dark ||
        roomOf(world, room).items.some((other) => itemOf(world, other).light && facts.where(other)?.room === room);
      const { chest } = roomOf(world, room);
      if (!seen || (where.place === "chest" && chest?.key !== undefined && !hero.items.includes(chest.key))) continue;
      if (room !== hero.room) return go(room) ?? "wait";
      return where.place === "chest" ? { tool: "open_chest" } : { tool: "pick_up", item: one };
    }
  }
  // 2. Quests on offer.
  for (const room of near) {
    const quest = questAt(world, room);
    if (quest !== undefined && !Object.hasOwn(hero.quests, quest)) return go(room) ?? "wait";
  }
  // 3. The likeliest fight that is worth something, with wounds closed.
  const end = hero.quests[world.ending.quest] === "completed" ? go(world.ending.room) : undefined;
  if (end !== undefined) return end;
  const fights = near
    .filter((room) => worth(world, facts, room))
    .map((room) => ({ room, chance: winChance(world, roomOf(world, room).monster ?? "", hero.items, 50) }))
    .toSorted((a, b) => b.chance - a.chance);
  const best = fights[0];
  if (best === undefined) return "wait";
  if (best.room === hero.room && fight !== undefined && hero.health * 2 >= world.hero.health) return fightOn(world, facts, fight);
  if (hero.health < world.hero.health && hero.room !== world.start) {
    const rest = near.find((room) => room !== hero.room && roomOf(world, room).rest);
    if (rest !== undefined) return go(rest) ?? "wait";
  }
  if (best.room === hero.room && fight !== undefined) return fightOn(world, facts, fight);
  return go(best.room) ?? "wait";
}

function fightOn(world: World, { hero }: Facts, monster: string): Act {
  const striking = hero.items.find((item) => itemOf(world, item).strike > 0);
  if (striking !== undefined) return { tool: "use", item: striking };
  const healing = hero.items.find((item) => itemOf(world, item).heal > 0);
  if (healing !== undefined && hero.health <= monsterOf(world, monster).attack * 1.5) return { tool: "use", item: healing };
  return { tool: "battle" };
}

// All useful items that the hero does not carry.
function wanted(world: World, facts: Facts): readonly string[] {
  const { hero } = facts;
  const questItems = world.quests[world.ending.quest]?.find ?? [];
  return [...homesOf(world).keys()].filter((id) => {
    if (hero.items.includes(id)) return false;
    const item = itemOf(world, id);
    const opens = Object.values(world.rooms).some((room) => room.chest?.key === id || exitsOf(room).some(([, exit]) => exit.key === id));
    if (opens || questItems.includes(id)) return true;
    if (item.light) return !hero.items.some((one) => itemOf(world, one).light);
    if (item.heal > 0 || item.strike > 0) return hero.items.length + 4 < world.hero.carry;
    const better = (force: (one: string) => number): boolean => force(id) > Math.max(0, ...hero.items.map(force));
    return (
      better((one) => itemOf(world, one).attack) ||
      better((one) => itemOf(world, one).bane?.attack ?? 0) ||
      better((one) => itemOf(world, one).armor)
    );
  });
}

// A monster is worth a fight if it has a useful item or was not defeated yet.
function worth(world: World, facts: Facts, roomId: string): boolean {
  const { monster } = roomOf(world, roomId);
  // In other rooms a defeated monster may have returned.
  if (monster === undefined || (roomId === facts.hero.room && !facts.alive(roomId))) return false;
  const carries = wanted(world, facts).some((item) => facts.where(item)?.room === roomId && facts.where(item)?.place === "monster");
  return carries || !facts.hero.deeds.includes(monster);
}
