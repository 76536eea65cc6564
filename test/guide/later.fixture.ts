// The code of docs/guide/messages.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

export const kitchen = actor("kitchen", {
  description: "Cooks.",
  per: "link",
  autoStart: true,
  state: z.object({ left: z.int().default(1) }),
  messages: {
    cook: {
      input: z.object({ dish: z.string() }),
      run({ state, args }) {
        if (state.left === 0) refuse("Nothing is left.", { code: "SOLD_OUT" });
        state.left -= 1;
        return `${args.dish} is served.`;
      },
    },
  },
});

export const guest = actor("guest", {
  description: "A guest of the inn.",
  per: "user",
  state: z.object({}),
  tools: {
    order: {
      description: "Order a dish.",
      input: z.object({ dish: z.string() }),
      run: ({ args, forward }) => forward(kitchen.at("main").cook(args)),
    },
  },
});
