// The code of docs/recipes/state-machine.md.
import { actor } from "troupe";
import * as z from "zod";

const Step = z.enum(["cart", "address", "payment", "done"]);

export const checkout = actor("checkout", {
  description: "A checkout in four steps.",
  per: "user",
  state: z.object({ step: Step.default("cart"), items: z.array(z.string()).default([]), address: z.string().optional() }),
  tools: {
    add_item: {
      description: "Put an item into the cart.",
      input: z.object({ item: z.string() }),
      enabled: ({ state }) => state.step === "cart" || "The cart is closed.",
      run: ({ state, args }) => void state.items.push(args.item),
    },
    close_cart: {
      description: "Go on to the address.",
      enabled: ({ state }) =>
        (state.step === "cart" && (state.items.length > 0 || "Put something into the cart first.")) || "The cart is closed.",
      run: ({ state }) => void (state.step = "address"),
    },
    set_address: {
      description: "Set the address.",
      input: z.object({ address: z.string().min(5) }),
      enabled: ({ state }) => ["address", "payment"].includes(state.step) || "Close the cart first.",
      run({ state, args }) {
        state.address = args.address;
        state.step = "payment";
      },
    },
    pay: {
      description: "Pay.",
      enabled: ({ state }) => state.step === "payment" || (state.step === "done" ? "It is paid." : "Set the address first."),
      run: ({ state }) => void (state.step = "done"),
    },
  },
});
