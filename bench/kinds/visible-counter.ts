import { actor } from "troupe/actor";
import * as z from "zod";

/** A shared counter with a resource: each call changes the content of the resource, and no list. */
export const visibleCounter = actor("visible-counter", {
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
  resources: { count: { uri: "visible-counter://count", description: "The count.", view: ({ state }) => state } },
});
