import { actor } from "troupe/actor";
import * as z from "zod";

/** A counter that everybody can look at: each call changes what a resource shows, and no list. */
export const shown = actor("shown", {
  description: "A counter.",
  per: "shared",
  persistence: "memory",
  state: z.object({ count: z.int().default(0) }),
  tools: {
    add: {
      description: "Adds one.",
      run({ state }) {
        state.count += 1;
        return state.count;
      },
    },
  },
  resources: { count: { uri: "shown://count", description: "What it holds.", view: ({ state }) => state } },
});
