import { actor } from "troupe";
import * as z from "zod";

/** A counter that all clients share. */
export function counter(persistence: "memory" | "disk") {
  return actor("counter", {
    description: "A counter everybody shares.",
    per: "shared",
    persistence,
    state: z.object({ count: z.int().default(0) }),
    tools: {
      add: {
        description: "Add to the counter; returns the sum.",
        input: z.object({ by: z.int().default(1).describe("How much to add") }),
        run({ state, args }) {
          state.count += args.by;
          return state.count;
        },
      },
      get: { description: "Read the counter.", view: ({ state }) => state.count },
    },
  });
}
