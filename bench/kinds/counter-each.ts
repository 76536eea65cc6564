import { actor } from "troupe";
import * as z from "zod";

/** The counter of examples, on disk, one for each user: who is not known is one in each session. */
export default actor("counter", {
  description: "A counter of one's own.",
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
