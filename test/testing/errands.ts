// Actors with all that could differ from run to run: dice, ids, a watch, a child of their own, what is sent and comes back, a question.
import { actor, elicit } from "troupe";
import * as z from "zod";

export const errand = actor("errand", {
  description: "Runs one errand, and is done.",
  per: "link",
  state: z.object({ thrown: z.number().default(0) }),
  messages: {
    run: {
      input: z.object({ what: z.string() }),
      run(ctx) {
        ctx.state.thrown = ctx.random();
        ctx.wake("home", { afterMs: 500, message: ctx.messages.home() });
        return `${ctx.args.what} ${ctx.id()} ${ctx.state.thrown}`;
      },
    },
    home: { run: ({ stop }) => stop("done") },
  },
});

export const master = actor("master", {
  description: "Has errands run.",
  per: "user",
  state: z.object({ told: z.array(z.string()).default([]), n: z.int().default(0) }),
  tools: {
    send: {
      description: "Sends for something.",
      input: z.object({ what: z.string() }),
      run(ctx) {
        ctx.state.n += 1;
        const key = ctx.id();
        ctx.create(errand.at(key));
        ctx.send(errand.at(key).run({ what: ctx.args.what }), { replyAs: "back" });
        return key;
      },
    },
    roll: { description: "Rolls a die.", run: ({ random, now }) => `${random()} at ${String(now)}` },
    sure: {
      description: "Asks first.",
      run(ctx) {
        const { sure } = ctx.ask({ sure: elicit("Sure?", z.object({ yes: z.boolean() })) });
        ctx.state.told.push(sure.action);
        return sure.action;
      },
    },
    dig: {
      description: "Takes a while.",
      async work(ctx) {
        ctx.progress(1, 2, "half");
        ctx.state.n += 1;
        return "dug";
      },
    },
  },
  messages: {
    back: {
      replies: true,
      run(ctx) {
        ctx.state.told.push(JSON.stringify(ctx.args.reply));
      },
    },
    ended: {
      input: z.object({ child: z.string(), reason: z.string() }),
      run(ctx) {
        ctx.state.told.push(`${ctx.args.child} ${ctx.args.reason}`);
      },
    },
  },
  resources: { told: { uri: "errands://told", view: ({ state }) => state.told } },
});
