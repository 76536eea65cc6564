import { actor, refuse } from "troupe";
import * as z from "zod";

export const list = actor("list", {
  description: "A shopping list.",
  per: "shared",
  state: z.object({ items: z.array(z.string()).default([]) }),
  tools: {
    add: {
      description: "Put an item on the list.",
      input: z.object({ item: z.string().min(1).max(100) }),
      run({ state, args }) {
        if (state.items.includes(args.item)) refuse(`${args.item} is on the list already.`);
        state.items.push(args.item);
        return `${args.item} is on the list.`;
      },
    },
    buy: {
      description: "Take an item off the list.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.items.length > 0 || "The list is empty.",
      choices: { item: ({ state }) => state.items },
      run({ state, args }) {
        state.items = state.items.filter((item) => item !== args.item);
        return `You bought ${args.item}.`;
      },
    },
    show: { description: "Read the list.", view: ({ state }) => state.items.join(", ") || "The list is empty." },
  },
});
