import { actor } from "troupe";
import * as z from "zod";

export const me = actor("me", {
  description: "What you like.",
  per: "user",
  state: z.object({ favourites: z.array(z.string()).default([]) }),
  tools: {
    like: {
      description: "Remember an item that you like.",
      input: z.object({ item: z.string().min(1).max(100) }),
      run({ state, args }) {
        state.favourites.push(args.item);
      },
    },
  },
  resources: {
    favourites: { uri: "me://favourites", mimeType: "application/json", view: ({ state }) => state.favourites },
  },
});
