import type { World } from "../../world/world.ts";
import type { PlayerState } from "./player-state.ts";

/** A player as the world has it now: where the room is no more, at the start; without what is no more. */
export function fitPlayer(world: World, state: object): object {
  const player: PlayerState = JSON.parse(JSON.stringify(state), (_key, value: unknown) => Object.freeze(value));
  const inWorld = Object.hasOwn(world.rooms, player.room);
  const fit = {
    items: knownOf(player.items, world.items),
    found: knownOf(player.found, world.items),
    deeds: knownOf(player.deeds, world.monsters),
    quests: Object.fromEntries(Object.entries(player.quests).filter(([id]) => Object.hasOwn(world.quests, id))),
  };
  const same =
    inWorld &&
    fit.items.length === player.items.length &&
    fit.found.length === player.found.length &&
    fit.deeds.length === player.deeds.length &&
    Object.keys(fit.quests).length === Object.keys(player.quests).length;
  if (same) return state;
  for (const one of Object.values(fit)) Object.freeze(one);
  return Object.freeze({ ...player, ...fit, ...(!inWorld && { room: world.start, monsterPresent: false }) });
}

const knownOf = (ids: readonly string[], list: Readonly<Record<string, unknown>>): string[] => ids.filter((id) => Object.hasOwn(list, id));
