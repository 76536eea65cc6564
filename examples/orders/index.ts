import { actor, refuse } from "troupe";
import * as z from "zod";

const Line = z.object({ item: z.string(), count: z.int().min(1) });

/** The items in stock, and their prices. */
export const stock = actor("stock", {
  description: "The stock of the shop.",
  per: "link",
  autoStart: true,
  state: z.object({
    left: z.record(z.string(), z.int()).default({ tea: 20, cup: 3 }),
    price: z.record(z.string(), z.number()).default({ tea: 4, cup: 12 }),
  }),
  messages: {
    reserve: {
      input: Line,
      output: z.object({ amount: z.number() }),
      run({ state, args: { item, count } }) {
        const left = state.left[item] ?? 0;
        if (left < count) refuse(left === 0 ? `There is no ${item} left.` : `There are only ${left} left of ${item}.`);
        state.left[item] = left - count;
        return { amount: count * (state.price[item] ?? 0) };
      },
    },
    release: {
      input: Line,
      run({ state, args: { item, count } }) {
        state.left[item] = (state.left[item] ?? 0) + count;
      },
    },
  },
});

/** Takes payments. It declines large ones. */
export const payments = actor("payments", {
  description: "The payments of the shop.",
  per: "link",
  autoStart: true,
  state: z.object({ total: z.number().default(0) }),
  messages: {
    charge: {
      input: z.object({ amount: z.number().positive() }),
      output: z.object({ receipt: z.string() }),
      run({ state, args, id }) {
        if (args.amount > 50) refuse(`A payment of ${args.amount} was declined.`, { code: "DECLINED" });
        state.total += args.amount;
        return { receipt: id() };
      },
    },
  },
});

const Order = Line.extend({ amount: z.number(), receipt: z.string() });

/** Each customer's orders. */
export const customer = actor("customer", {
  description: "Order tea and cups.",
  per: "user",
  state: z.object({ orders: z.array(Order).default([]) }),
  tools: {
    order: {
      description: "Order something. Replies when it is paid.",
      input: Line,
      output: Order,
      run: ({ args, request }) => request(stock.at("main").reserve(args), "reserved", args),
    },
  },
  replies: {
    reserved: {
      of: stock.message("reserve"),
      input: Line,
      run: ({ args, reply, request }) => request(payments.at("main").charge(reply), "charged", { ...args, ...reply }),
    },
    charged: {
      of: payments.message("charge"),
      input: Order.omit({ receipt: true }),
      run({ state, args, reply }) {
        const order = { ...args, ...reply };
        state.orders.push(order);
        return order;
      },
      // Returns nothing, so the customer gets the refusal of the payment.
      refused({ args: { item, count }, send }) {
        send(stock.at("main").release({ item, count }));
      },
    },
  },
  resources: { orders: { uri: "orders://mine", mimeType: "application/json", view: ({ state }) => state.orders } },
});
