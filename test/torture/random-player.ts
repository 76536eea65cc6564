import type { World } from "../../examples/mud/world/world.ts";
import { DIRECTIONS } from "../../examples/mud/world/world.ts";
import type { Seeded } from "./seed.ts";

export interface Act {
  readonly tool: string;
  readonly args: Readonly<Record<string, string | number>>;
}

/** Tools that only look. */
export const LOOKS: ReadonlySet<string> = new Set(["look", "inventory", "who"]);

/** The next call of a restless player; `offered`: the items that a tool's list names now, if known. */
export function randomAct(random: Seeded, world: World, names: readonly string[], offered: (tool: string) => readonly string[]): Act {
  const item = (tool: string): string => random.pick(offered(tool)) ?? random.pick(Object.keys(world.items)) ?? "";
  const say: Act = { tool: "say", args: { text: `la ${random.under(1_000)}` } };
  // Items that are not offered are tried only now and then, since a refusal changes nothing.
  const offers = (tool: string): boolean => offered(tool).length > 0 || random.under(6) === 0;
  const roll = random.under(100);
  if (roll < 30) return { tool: "move", args: { direction: random.pick(DIRECTIONS) ?? "north" } };
  if (roll < 48) return offers("pick_up") ? { tool: "pick_up", args: { item: item("pick_up") } } : say;
  if (roll < 56) return offers("drop") ? { tool: "drop", args: { item: item("drop") } } : say;
  if (roll < 62) return offers("give") ? { tool: "give", args: { item: item("give"), to: random.pick(names) ?? "" } } : say;
  if (roll < 66) return offers("use") ? { tool: "use", args: { item: item("use") } } : say;
  if (roll < 74) return { tool: "battle", args: {} };
  if (roll < 77) return { tool: "flee", args: {} };
  if (roll < 81) return { tool: "open_chest", args: {} };
  if (roll < 84) return { tool: "accept_quest", args: {} };
  if (roll < 90) return say;
  if (roll < 95) return { tool: "tell", args: { to: random.pick(names) ?? "", text: "psst" } };
  return { tool: random.pick([...LOOKS]) ?? "look", args: {} };
}
