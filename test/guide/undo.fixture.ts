// The code of docs/guide/undo.md.
import { actor } from "troupe";
import * as z from "zod";

const Item = z.object({ item: z.string() });

export const box = actor("box", {
  description: "A box.",
  undo: { withinMs: 600_000 },
  state: z.object({ items: z.array(z.string()).default([]) }),
  tools: {
    rename: {
      description: "Rename an item.",
      input: z.object({ from: z.string(), to: z.string() }),
      run({ state, args }) {
        state.items = state.items.map((item) => (item === args.from ? args.to : item));
      },
    },
    take: {
      description: "Take an item out.",
      input: Item,
      undo: "put_back",
      run({ state, args }) {
        state.items = state.items.filter((item) => item !== args.item);
      },
    },
    put_back: {
      description: "Put an item in.",
      input: Item,
      undo: false,
      run({ state, args }) {
        state.items.push(args.item);
      },
    },
  },
});
