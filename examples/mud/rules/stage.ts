import { homesOf, itemOf, monsterOf, roomOf, type World } from "../world/world.ts";

/** The mutable state of a room. The rules change only the stage that they get. */
export interface Stage {
  floor: string[];
  chest: string[];
  chestOpen: boolean;
  /** 0 if there is no monster, or it is defeated. */
  monsterHealth: number;
  /** The items of the monster, including those that came home while it is defeated. */
  monsterItems: string[];
}

/** The initial stage of a room. */
export function newStage(world: World, roomId: string): Stage {
  const room = roomOf(world, roomId);
  const monster = room.monster === undefined ? undefined : monsterOf(world, room.monster);
  return {
    floor: [...room.items],
    chest: [...(room.chest?.items ?? [])],
    chestOpen: false,
    monsterHealth: monster?.health ?? 0,
    monsterItems: [...(monster?.items ?? [])],
  };
}

/** Whether the room is lit. `carried` has the items of all players here. */
export function isLit(world: World, roomId: string, stage: Stage, carried: readonly string[]): boolean {
  const isLight = (id: string): boolean => world.items[id]?.light === true;
  return !roomOf(world, roomId).dark || stage.floor.some(isLight) || carried.some(isLight);
}

/** The monster of the room, if it is alive. */
export function monsterHere(world: World, roomId: string, stage: Stage): string | undefined {
  return stage.monsterHealth > 0 ? roomOf(world, roomId).monster : undefined;
}

/** Takes an item off the floor. Returns false if it is not there. */
export function takeFromFloor(stage: Stage, item: string): boolean {
  const index = stage.floor.indexOf(item);
  if (index === -1) return false;
  stage.floor.splice(index, 1);
  return true;
}

/** Whether the item is in the room and not carried by a player. */
function liesHere({ floor, chest, monsterItems }: Stage, item: string): boolean {
  return floor.includes(item) || chest.includes(item) || monsterItems.includes(item);
}

/** Puts an item where it belongs, unless it is in the room already. Returns false if it does not belong in this room. */
export function putHome(world: World, roomId: string, stage: Stage, item: string): boolean {
  const home = homesOf(world).get(item);
  if (home?.room !== roomId) return false;
  if (liesHere(stage, item)) return true;
  if (home.place === "floor") stage.floor.push(item);
  else if (home.place === "monster") stage.monsterItems.push(item);
  else {
    // An open chest closes when it gets an item back, so that the next player finds it as the first did.
    if (stage.chestOpen) stage.floor.push(...stage.chest.splice(0));
    stage.chestOpen = false;
    stage.chest.push(item);
  }
  return true;
}

export type Opened = { readonly items: readonly string[] } | { readonly refused: string };

/** Opens the chest and puts its items on the floor. */
export function openChest(world: World, roomId: string, stage: Stage, carried: readonly string[]): Opened {
  const { chest } = roomOf(world, roomId);
  if (chest === undefined || stage.chestOpen)
    return { refused: chest === undefined ? "There is no chest here." : `The ${chest.name} is open already.` };
  if (chest.key !== undefined && !carried.includes(chest.key))
    return { refused: `The ${chest.name} is locked. It takes the ${itemOf(world, chest.key).name}.` };
  const items = stage.chest.splice(0);
  stage.chestOpen = true;
  stage.floor.push(...items);
  return { items };
}

/** Wounds the monster. When it is defeated, its items drop to the floor. */
export function woundMonster(stage: Stage, damage: number): { readonly slain: boolean; readonly left: readonly string[] } {
  stage.monsterHealth = Math.max(0, stage.monsterHealth - damage);
  if (stage.monsterHealth > 0) return { slain: false, left: [] };
  const left = stage.monsterItems.splice(0);
  stage.floor.push(...left);
  return { slain: true, left };
}

/** Restores the full health of the monster. */
export function restoreMonster(world: World, roomId: string, stage: Stage): void {
  const { monster } = roomOf(world, roomId);
  if (monster !== undefined) stage.monsterHealth = monsterOf(world, monster).health;
}

/** Whether a defeated monster returns when a hero enters: if the hero has not beaten it, or if it has items again. */
export function returnsFor(world: World, roomId: string, stage: Stage, deeds: readonly string[]): boolean {
  const { monster } = roomOf(world, roomId);
  return monster !== undefined && stage.monsterHealth === 0 && (stage.monsterItems.length > 0 || !deeds.includes(monster));
}
