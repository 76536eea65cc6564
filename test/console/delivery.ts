// Actors that leave what the lists of the console show: dead letters, timers, tasks and slow calls.
import { actor } from "troupe";
import * as z from "zod";

/** Prints labels, and jams on some of them. */
export const printer = actor("printer", {
  description: "A printer.",
  per: "shared",
  state: z.object({ printed: z.int().default(0), repaired: z.boolean().default(false) }),
  tools: {
    repair: {
      description: "Repair the printer.",
      run({ state }) {
        state.repaired = true;
      },
    },
  },
  messages: {
    print: {
      input: z.object({ label: z.string() }),
      run({ state, args }) {
        if (!state.repaired) throw new Error(`The paper jams at <b>${args.label}</b>`);
        state.printed += 1;
      },
    },
  },
});

export const shop = actor("shop", {
  description: "A shop.",
  per: "shared",
  state: z.object({ orders: z.int().default(0) }),
  tools: {
    order: {
      description: "Order something. Its label is printed.",
      input: z.object({ item: z.string() }),
      run({ state, args, send, wake, messages }) {
        state.orders += 1;
        wake(`ask ${state.orders}`, { afterMs: 3_600_000, message: messages.ask() });
        send(printer.at("main").print({ label: args.item }));
        return `Order ${state.orders}.`;
      },
    },
    count: {
      description: "Count the stock, which takes a while.",
      input: z.object({ ms: z.int().min(0).max(60_000) }),
      task: "optional",
      async work({ args, signal, progress }) {
        progress(1, 2, "Counting the shelves");
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(resolve, args.ms);
          signal.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(new Error("cancelled"));
          });
        });
        return "Counted.";
      },
    },
  },
  messages: { ask: { run() {} } },
});
