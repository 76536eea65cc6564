// The code of docs/recipes/rate-limits.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

const MOST = 3;
const HOUR_MS = 3_600_000;

export const painter = actor("painter", {
  description: "Paints pictures, at most three an hour for each user.",
  per: "user",
  state: z.object({ calls: z.array(z.number()).default([]) }),
  tools: {
    paint: {
      description: "Paint a picture.",
      input: z.object({ of: z.string().max(200) }),
      run({ state, args, now }) {
        const recent = state.calls.filter((at) => now - at < HOUR_MS);
        const [first = now] = recent;
        if (recent.length >= MOST) refuse(`Wait ${Math.ceil((first + HOUR_MS - now) / 60_000)} minutes.`, { code: "QUOTA" });
        state.calls = [...recent, now];
        return `A picture of ${args.of}.`;
      },
    },
  },
});
