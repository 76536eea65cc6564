// The code of docs/recipes/undo.md.
import { actor } from "troupe";
import * as z from "zod";

const HOUR_MS = 3_600_000;
const Item = z.object({ item: z.string() });

export const shelf = actor("shelf", {
  description: "A shelf that people share.",
  undo: { withinMs: HOUR_MS },
  state: z.object({ items: z.array(z.string()).default([]) }),
  tools: {
    clear: { description: "Remove everything.", run: ({ state }) => void (state.items = []) },
    put: {
      description: "Put an item on the shelf.",
      input: Item,
      undo: "take",
      run: ({ state, args }) => void state.items.push(args.item),
    },
    take: {
      description: "Take an item from the shelf.",
      input: Item,
      undo: "put",
      run({ state, args }) {
        state.items = state.items.filter((item) => item !== args.item);
      },
    },
  },
  resources: { items: { uri: "shelf://items", view: ({ state }) => state.items } },
});
