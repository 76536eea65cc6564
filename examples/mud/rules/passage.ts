import { type Direction, itemOf, monsterOf, roomOf, type World } from "../world/world.ts";

/** The items and deeds that decide which exits are open. */
export interface Traveller {
  readonly items: readonly string[];
  /** Defeated monsters. */
  readonly deeds: readonly string[];
}

export type Passage = { readonly to: string; readonly by?: string } | { readonly refused: string };

/** The room behind an exit, or why it is closed. `by` is the key that opens it. */
export function passage(world: World, roomId: string, direction: Direction, who: Traveller): Passage {
  const exit = roomOf(world, roomId).exits[direction];
  if (exit === undefined) return { refused: `Error: Cannot move ${direction} - there is a wall blocking your path.` };
  if (exit.key !== undefined && !who.items.includes(exit.key)) {
    return {
      refused: `Error: Cannot move ${direction} - ${exit.shut ?? `the door is locked. It takes the ${itemOf(world, exit.key).name}.`}`,
    };
  }
  if (exit.after !== undefined && !who.deeds.includes(exit.after)) {
    return {
      refused: `Error: Cannot move ${direction} - ${exit.shut ?? `the way is barred until you have defeated the ${monsterOf(world, exit.after).name}.`}`,
    };
  }
  return exit.key === undefined ? { to: exit.to } : { to: exit.to, by: exit.key };
}

/** The open exits of a room. */
export function openWays(world: World, roomId: string, who: Traveller): readonly { readonly direction: Direction; readonly to: string }[] {
  const ways: { direction: Direction; to: string }[] = [];
  for (const direction of Object.keys(roomOf(world, roomId).exits)) {
    if (!isDirection(direction)) continue;
    const step = passage(world, roomId, direction, who);
    if ("to" in step) ways.push({ direction, to: step.to });
  }
  return ways;
}

function isDirection(text: string): text is Direction {
  return text === "north" || text === "south" || text === "east" || text === "west";
}

/** A shortest path through open exits. Undefined if there is none. */
export function wayTo(world: World, from: string, to: string, who: Traveller): readonly Direction[] | undefined {
  const came = new Map<string, { readonly from: string; readonly by: Direction } | undefined>([[from, undefined]]);
  const queue = [from];
  for (let head = queue.shift(); head !== undefined; head = queue.shift()) {
    if (head === to) break;
    for (const way of openWays(world, head, who)) {
      if (came.has(way.to)) continue;
      came.set(way.to, { from: head, by: way.direction });
      queue.push(way.to);
    }
  }
  if (!came.has(to)) return undefined;
  const steps: Direction[] = [];
  for (let step = came.get(to); step !== undefined; step = came.get(step.from)) steps.unshift(step.by);
  return steps;
}

/** All rooms that are reachable through open exits. */
export function reach(world: World, from: string, who: Traveller): ReadonlySet<string> {
  const seen = new Set([from]);
  for (const room of seen) for (const way of openWays(world, room, who)) seen.add(way.to);
  return seen;
}
