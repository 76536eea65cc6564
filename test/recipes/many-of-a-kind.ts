// The code of docs/recipes/many-of-a-kind.md.
import { actor } from "troupe";
import * as z from "zod";

export const list = actor("list", {
  description: "One shopping list.",
  per: "link",
  state: z.object({ items: z.array(z.string()).default([]) }),
  tools: {
    add: {
      description: "Add an item to a list.",
      input: z.object({ item: z.string() }),
      run: ({ state, args }) => state.items.push(args.item),
    },
  },
  resources: { items: { uri: "list://{alias}/items", view: ({ state }) => state.items } },
});

export const shopper = actor("shopper", {
  description: "Your shopping lists.",
  per: "user",
  state: z.object({ lists: z.record(z.string(), z.string()).default({}) }),
  links: { list: { kind: list, choices: ({ state }) => Object.keys(state.lists) } },
  tools: {
    new_list: {
      description: "Start a list. Returns its id.",
      input: z.object({ title: z.string() }),
      output: z.object({ list: z.string() }),
      run({ state, args, id, create, settled }) {
        const key = id();
        create(list.at(key));
        state.lists[key] = args.title;
        return settled({ list: key });
      },
    },
  },
  resources: { lists: { uri: "lists://mine", view: ({ state }) => state.lists } },
});
