import { putHome } from "../../rules/stage.ts";
import { homesIn, monsterOf, roomOf, stampOf, type World } from "../../world/world.ts";
import type { RoomState } from "./room-state.ts";

/**
 * Adapts a room to the current world. Removes what the world no longer has and items that now belong elsewhere, and adds items that now
 * belong here.
 */
export function adaptRoom(world: World, state: object): object {
  const stamp = stampOf(world);
  if (Reflect.get(state, "world") === stamp) return state;
  const room: RoomState = JSON.parse(JSON.stringify(state));
  const homes = homesIn(world, room.id);
  const left = new Set(room.homes.filter((item) => !homes.includes(item)));
  const known = (item: string): boolean => Object.hasOwn(world.items, item);
  const stays = (item: string): boolean => known(item) && !left.has(item);
  const { stage } = room;
  stage.floor = stage.floor.filter(stays);
  stage.chest = stage.chest.filter(stays);
  stage.monsterItems = stage.monsterItems.filter(stays);
  room.resting = room.resting.filter(stays);
  for (const one of Object.values(room.occupants)) {
    one.items = one.items.filter(known);
    one.deeds = one.deeds.filter((id) => Object.hasOwn(world.monsters, id));
    one.quests = one.quests.filter((id) => Object.hasOwn(world.quests, id));
    one.completed = one.completed.filter((id) => Object.hasOwn(world.quests, id));
  }
  adaptMonster(world, room);
  if (roomOf(world, room.id).chest === undefined) {
    stage.floor.push(...stage.chest.splice(0));
    stage.chestOpen = false;
  }
  for (const item of homes) if (!room.homes.includes(item) && !room.resting.includes(item)) putHome(world, room.id, stage, item);
  return frozen({ ...room, world: stamp, homes });
}

function adaptMonster(world: World, room: RoomState): void {
  const { stage } = room;
  const id = roomOf(world, room.id).monster ?? null;
  const health = id === null ? 0 : monsterOf(world, id).health;
  stage.monsterHealth = id === room.monster ? Math.min(stage.monsterHealth, health) : health;
  if (id === null) stage.floor.push(...stage.monsterItems.splice(0));
  if (id !== room.monster) for (const one of Object.values(room.occupants)) one.engaged = false;
  room.monster = id;
}

// Turns expect a deeply frozen state.
function frozen(room: RoomState): RoomState {
  return JSON.parse(JSON.stringify(room), (_key, value: unknown) => Object.freeze(value));
}
