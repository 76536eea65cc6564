// The code of docs/recipes/roles.md.
import { actor, hasClaim } from "troupe";
import * as z from "zod";

export const shop = actor("shop", {
  description: "The opening hours of a shop.",
  state: z.object({ hours: z.string().default("9 to 5") }),
  allow: {
    manager: { holds: ({ viewer }) => hasClaim(viewer, "roles", "manager"), reason: "Only managers may do this." },
  },
  tools: {
    hours: { description: "When the shop is open.", view: ({ state }) => state.hours },
    set_hours: {
      description: "Change the opening hours.",
      allow: "manager",
      input: z.object({ hours: z.string() }),
      run: ({ state, args }) => void (state.hours = args.hours),
    },
  },
});
