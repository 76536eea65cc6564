// The code of docs/recipes/user-state.md.
import { actor } from "troupe";
import * as z from "zod";

export const cart = actor("cart", {
  description: "Your shopping cart.",
  per: "user",
  state: z.object({ items: z.record(z.string(), z.int()).default({}) }),
  tools: {
    add: {
      description: "Put an item into the cart.",
      input: z.object({ item: z.string(), count: z.int().min(1).default(1) }),
      run({ state, args }) {
        state.items[args.item] = (state.items[args.item] ?? 0) + args.count;
      },
    },
    check_out: {
      description: "Order what is in the cart.",
      enabled: ({ state }) => Object.keys(state.items).length > 0 || "The cart is empty.",
      run({ state }) {
        state.items = {};
        return "Ordered.";
      },
    },
  },
  resources: { cart: { uri: "cart://mine", view: ({ state }) => state.items } },
});
