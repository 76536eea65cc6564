import type { World } from "../../world/world.ts";
import type { PlayerState } from "./player-state.ts";

/** Adapts a player to the current world. Removes what the world no longer has, and moves the player to the start if the room was removed. */
export function adaptPlayer(world: World, state: object): object {
  const player: PlayerState = JSON.parse(JSON.stringify(state), (_key, value: unknown) => Object.freeze(value));
  const inWorld = Object.hasOwn(world.rooms, player.room);
  const adapted = {
    items: knownOf(player.items, world.items),
    found: knownOf(player.found, world.items),
    deeds: knownOf(player.deeds, world.monsters),
    quests: Object.fromEntries(Object.entries(player.quests).filter(([id]) => Object.hasOwn(world.quests, id))),
  };
  const isUnchanged =
    inWorld &&
    adapted.items.length === player.items.length &&
    adapted.found.length === player.found.length &&
    adapted.deeds.length === player.deeds.length &&
    Object.keys(adapted.quests).length === Object.keys(player.quests).length;
  if (isUnchanged) return state;
  for (const one of Object.values(adapted)) Object.freeze(one);
  const visited = Object.freeze([...new Set([...player.visited, world.start])]);
  return Object.freeze({ ...player, ...adapted, ...(!inWorld && { room: world.start, visited, monsterPresent: false }) });
}

const knownOf = (ids: readonly string[], list: Readonly<Record<string, unknown>>): string[] => ids.filter((id) => Object.hasOwn(list, id));
