// Purses that pay each other, and a tally everybody adds to: what goes from one to another is in neither on its way.
import { setImmediate as breath } from "node:timers/promises";
import * as z from "zod";
import { actor, refuse } from "../../src/index.ts";

/** What a purse begins with. */
export const COINS = 100;

const op = z.string();

/** One for each principal. */
export const purse = (persistence: "disk" | "distributed") =>
  actor("purse", {
    description: "A purse of one's own.",
    per: "user",
    persistence,
    state: z.object({
      coins: z.int().default(COINS),
      counted: z.int().default(0),
      /** How often it has paid that purse. */
      paid: z.record(z.string(), z.int()).default({}),
      /** The last payment heard of from that purse. */
      heard: z.record(z.string(), z.int()).default({}),
    }),
    tools: {
      pay: {
        description: "Pay somebody.",
        input: z.object({ op, to: z.string(), coins: z.int().positive() }),
        run({ state, args, key, send }) {
          if (args.coins > state.coins) refuse("There is not so much in it.");
          const n = (state.paid[args.to] ?? 0) + 1;
          state.paid[args.to] = n;
          state.coins -= args.coins;
          send(`purse/${args.to}`, "gain", { from: key, coins: args.coins, n });
          return state.coins;
        },
      },
      count: {
        description: "Count what is in it, which takes a while.",
        input: z.object({ op }),
        async work({ state }) {
          await breath();
          state.counted += 1;
          return state.coins;
        },
      },
    },
    resources: { state: { uri: "purse://state", mimeType: "application/json", view: ({ state }) => state } },
    messages: {
      gain: {
        input: z.object({ from: z.string(), coins: z.int(), n: z.int() }),
        run({ state, args }) {
          state.coins += args.coins;
          state.heard[args.from] = args.n;
        },
      },
    },
  });

/** One for all. */
export const tally = (persistence: "disk" | "distributed") =>
  actor("tally", {
    description: "A sum everybody adds to.",
    per: "shared",
    persistence,
    state: z.object({ sum: z.int().default(0) }),
    tools: {
      add: {
        description: "Add at once.",
        input: z.object({ op, by: z.int() }),
        run({ state, args }) {
          state.sum += args.by;
          return state.sum;
        },
      },
      weigh: {
        description: "Add after a while.",
        input: z.object({ op, by: z.int() }),
        async work({ state, args }) {
          await breath();
          state.sum += args.by;
          return state.sum;
        },
      },
    },
    resources: { sum: { uri: "tally://sum", mimeType: "application/json", view: ({ state }) => state } },
  });

export default [purse("distributed"), tally("distributed")];
