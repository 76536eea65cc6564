import { actor } from "troupe";
import * as z from "zod";

/** The counter of the examples, on disk and one for each user. Without a user, each session has its own. */
export default actor("counter", {
  description: "Your own counter.",
  per: "user",
  persistence: "disk",
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
  },
});
