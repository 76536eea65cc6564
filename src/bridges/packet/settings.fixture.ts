import * as z from "zod";
import { actor } from "../../core/actor/index.ts";

/** One for each user, by its key alone. */
export const settings = actor("settings", {
  description: "What a user likes.",
  per: "user",
  persistence: "memory",
  state: z.object({ colour: z.string().default("grey") }),
  tools: {
    set: {
      description: "Set the colour.",
      input: z.object({ colour: z.string() }),
      run({ state, args }) {
        state.colour = args.colour;
      },
    },
    get: { description: "The colour.", view: ({ state }) => state.colour },
  },
});
