import { itemOf, type Monster, monsterOf, type World } from "../world/world.ts";
import { type Dice, diceOf } from "./dice.ts";

export const HERO_HITS = 0.85;
export const MONSTER_HITS = 0.75;
export const FLEE_SUCCEEDS = 0.6;

/** A hero's attack, and the armor that reduces each hit. */
export interface Arms {
  readonly attack: number;
  readonly armor: number;
}

/** The arms of a hero with these items, against this monster. */
export function armsOf(world: World, carried: readonly string[], monster?: string): Arms {
  let weapon = 0;
  let mail = 0;
  for (const id of carried) {
    const item = itemOf(world, id);
    const bane = item.bane !== undefined && item.bane.monster === monster ? item.bane.attack : 0;
    weapon = Math.max(weapon, item.attack + bane);
    mail = Math.max(mail, item.armor);
  }
  return { attack: world.hero.attack + weapon, armor: world.hero.armor + mail };
}

/** A hit is 0.5 to 1.5 times the attack, less armor, at least 1. A miss is 0. */
export function blow(attack: number, armor: number, chance: number, dice: Dice): number {
  const hits = dice() < chance;
  const force = Math.round(attack * (0.5 + dice()));
  return hits && attack > 0 ? Math.max(1, force - armor) : 0;
}

/** The hero's blow. */
export function strikeMonster(arms: Arms, monster: Monster, dice: Dice): number {
  return blow(arms.attack, monster.armor, HERO_HITS, dice);
}

/** The monster's blow. */
export function strikeHero(monster: Monster, arms: Arms, dice: Dice): number {
  return blow(monster.attack, arms.armor, MONSTER_HITS, dice);
}

/** A longer duel counts as lost: a world may have a monster that cannot be wounded. */
const MAX_ROUNDS = 500;

/** Whether a hero with these items and full health defeats the monster, without fleeing or using items. */
function duel(world: World, monsterId: string, carried: readonly string[], dice: Dice): boolean {
  const monster = monsterOf(world, monsterId);
  const arms = armsOf(world, carried, monsterId);
  let hero = world.hero.health;
  let other = monster.health;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    other -= strikeMonster(arms, monster, dice);
    if (other <= 0) return true;
    hero -= strikeHero(monster, arms, dice);
    if (hero <= 0) return false;
  }
  return false;
}

/** The share of `rounds` duels that are won, for seeds from `seed` on. */
export function winChance(world: World, monsterId: string, carried: readonly string[], rounds: number, seed = 1): number {
  let won = 0;
  for (let round = 0; round < rounds; round += 1) if (duel(world, monsterId, carried, diceOf(seed + round))) won += 1;
  return won / rounds;
}
