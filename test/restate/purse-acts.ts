import type { ActorId } from "../../src/core/contract/index.ts";
import type { Seeded } from "../torture/seed.ts";

/** What somebody does, each under a name of its own that is in its arguments. */
export interface Act {
  readonly op: string;
  readonly to: ActorId;
  readonly tool: "pay" | "count" | "add" | "weigh";
  readonly args: Readonly<Record<string, string | number>>;
}

/** The next thing the principal of that name does among those. */
export const nextAct = (random: Seeded, op: string, me: string, among: readonly string[]): Act => {
  const purse: ActorId = `purse/${me}`;
  const roll = random.under(10);
  if (roll < 6) {
    const others = among.filter((one) => one !== me);
    return { op, to: purse, tool: "pay", args: { op, to: random.pick(others) ?? me, coins: 1 + random.under(20) } };
  }
  if (roll < 7) return { op, to: purse, tool: "count", args: { op } };
  return { op, to: "tally/main", tool: roll < 9 ? "add" : "weigh", args: { op, by: 1 + random.under(9) } };
};
