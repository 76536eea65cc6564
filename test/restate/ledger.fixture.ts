import * as z from "zod";
import { actor } from "../../src/index.ts";

const args = z.object({ gate: z.string() });

/** Waits at that address until somebody lets it through, saying who waits. */
const pass = async (gate: string, signal: AbortSignal): Promise<string> => (await fetch(`${gate}?pid=${process.pid}`, { signal })).text();

const tellsWhere = (version: number, sum: number): string => `${sum} by version ${version} in ${process.pid}`;

/** As it was first. */
export const first = actor("ledger", {
  description: "A ledger of one's own.",
  per: "user",
  persistence: "distributed",
  state: z.object({ sum: z.int().default(0) }),
  tools: {
    add: {
      description: "Add one.",
      run: ({ state }) => tellsWhere(1, (state.sum += 1)),
    },
    hold: {
      description: "Add ten, once it is let through.",
      input: args,
      async work({ state, args: { gate }, signal }) {
        await pass(gate, signal);
        return tellsWhere(1, (state.sum += 10));
      },
    },
  },
});

/** Keeps its sum under another name. */
export const second = actor("ledger", {
  description: "A ledger of one's own.",
  per: "user",
  persistence: "distributed",
  version: 2,
  state: z.object({ total: z.int().default(0), from: z.int().default(2) }),
  migrate: ({ state, from }) => ({ total: z.object({ sum: z.int() }).parse(state).sum, from }),
  tools: {
    add: {
      description: "Add one.",
      run: ({ state }) => tellsWhere(2, (state.total += 1)),
    },
    hold: {
      description: "Add ten, once it is let through.",
      input: args,
      async work({ state, args: { gate }, signal }) {
        await pass(gate, signal);
        return tellsWhere(2, (state.total += 10));
      },
    },
  },
});
