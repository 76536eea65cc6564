import { actor } from "troupe";
import * as z from "zod";

const State = z.object({
  favourites: z.array(z.string()).default([]),
  notices: z.array(z.string()).default([]),
});

export const me = actor("me", {
  description: "What you like, and your reminders.",
  per: "user",
  state: State,
  version: 2,
  migrate: ({ state }) => State.parse(state),
  tools: {
    like: {
      description: "Remember an item that you like.",
      input: z.object({ item: z.string().min(1).max(100) }),
      run({ state, args }) {
        state.favourites.push(args.item);
      },
    },
  },
  messages: {
    notify: {
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notices.push(args.text);
      },
    },
  },
  resources: {
    favourites: { uri: "me://favourites", mimeType: "application/json", view: ({ state }) => state.favourites },
    notices: { uri: "me://notices", mimeType: "application/json", view: ({ state }) => state.notices },
  },
});
