// The code of docs/guide/state.md, "Use the state's type elsewhere", and of docs/guide/messages.md.
import * as z from "zod";
import { actor, type RunContext } from "troupe";

const Order = z.object({ tries: z.int().default(0), paid: z.boolean().default(false) });

function charge({ state, send, key }: Pick<RunContext<z.infer<typeof Order>, unknown>, "state" | "send" | "key">): void {
  state.tries += 1;
  send(bank.at("main").charge({ order: key }), { replyAs: "charged" });
}

const bank = actor("bank", {
  description: "Takes money.",
  per: "link",
  autoStart: true,
  state: z.object({ charged: z.array(z.string()).default([]) }),
  messages: {
    charge: {
      input: z.object({ order: z.string() }),
      run({ state, args }) {
        state.charged.push(args.order);
      },
    },
  },
});

export const order = actor("order", {
  description: "An order.",
  per: "user",
  state: Order,
  tools: { pay: { description: "Pay.", run: (ctx) => charge(ctx) } },
  messages: {
    again: { run: (ctx) => charge(ctx) },
    charged: {
      replies: true,
      run({ state, args }) {
        state.paid = "ok" in args.reply;
      },
    },
  },
});
