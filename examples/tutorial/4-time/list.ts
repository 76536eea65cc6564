import { actor, hasClaim, index, isSignedIn, refuse } from "troupe";
import * as z from "zod";
import { me } from "./me.ts"; // new
import { priceOf } from "./prices.ts"; // new

const State = z.object({
  items: z.array(z.string()).default([]),
  addedBy: z.record(z.string(), z.string()).default({}),
  shop: z.string().default(""),
});

export const list = actor("list", {
  description: "A shopping list.",
  per: "link",
  state: State,
  initial: ({ args }) => State.parse(args ?? {}),
  version: 3,
  migrate: ({ state }) => State.parse(state),
  allow: {
    parent: { holds: ({ viewer }) => hasClaim(viewer, "roles", "parent"), reason: "Only parents may clear the list." },
  },
  tools: {
    add: {
      description: "Put an item on the list.",
      input: z.object({ item: z.string().min(1).max(100) }),
      run({ state, args, viewer }) {
        if (state.items.includes(args.item)) refuse(`${args.item} is on the list already.`);
        state.items.push(args.item);
        state.addedBy[args.item] = viewer.principal ?? "somebody";
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
        delete state.addedBy[args.item];
        return `You bought ${args.item}.`;
      },
    },
    clear: {
      description: "Take everything off the list.",
      allow: "parent",
      run({ state }) {
        state.items = [];
        state.addedBy = {};
      },
    },
    // new
    remind: {
      description: "Remind me of this list in some minutes.",
      input: z.object({ minutes: z.number().positive().max(10_080) }),
      run({ args, viewer, wake, messages }) {
        if (!isSignedIn(viewer)) refuse("Sign in first.");
        const user = viewer.principal;
        wake(`remind ${user}`, { afterMs: args.minutes * 60_000, message: messages.remind({ user }) });
      },
    },
    // new
    repeat: {
      description: "Put an item on the list every Saturday at nine.",
      input: z.object({ item: z.string().min(1).max(100) }),
      run({ args, wake, messages }) {
        wake(`repeat ${args.item}`, { cron: "0 9 * * 6", timeZone: "Europe/Berlin", message: messages.put(args) });
      },
    },
    // new
    prices: {
      description: "Look up what everything on the list costs.",
      task: "optional",
      async work({ state, signal, progress }) {
        let total = 0;
        for (const [done, item] of state.items.entries()) {
          total += await priceOf(item, signal);
          progress(done + 1, state.items.length, item);
        }
        return `Everything costs ${total} euros.`;
      },
    },
    show: {
      description: "Read the list.",
      view: ({ state }) => state.items.map((item) => `${item} (${state.addedBy[item] ?? "somebody"})`).join(", ") || "The list is empty.",
    },
  },
  // new
  messages: {
    remind: {
      input: z.object({ user: z.string() }),
      run({ state, args, key, send }) {
        if (state.items.length > 0) send(me.at(args.user).notify({ text: `On the list ${key}: ${state.items.join(", ")}` }));
      },
    },
    put: {
      input: z.object({ item: z.string() }),
      run({ state, args }) {
        if (!state.items.includes(args.item)) state.items.push(args.item);
      },
    },
  },
});

/** Lists with something on them. */
export const open = index(list, {
  where: ({ state }) => state.items.length > 0,
  pick: ["shop", "items"],
  uri: "lists://open",
  tool: "find_lists",
  description: "Lists with something on them.",
});
