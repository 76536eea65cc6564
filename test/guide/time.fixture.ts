// The code of docs/guide/time.md, except that of timers.fixture.ts.
import { actor } from "troupe";
import * as z from "zod";

export const visit = actor("visit", {
  description: "A visit to the museum.",
  per: "handle",
  expireMs: 8 * 3_600_000,
  state: z.object({ seen: z.array(z.string()).default([]) }),
  tools: {
    see: {
      description: "Look at a picture.",
      input: z.object({ picture: z.string() }),
      run({ state, args }) {
        state.seen.push(args.picture);
      },
    },
  },
});
