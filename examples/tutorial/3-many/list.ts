import { actor, hasClaim, index, refuse } from "troupe";
import * as z from "zod";

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
    show: {
      description: "Read the list.",
      view: ({ state }) => state.items.map((item) => `${item} (${state.addedBy[item] ?? "somebody"})`).join(", ") || "The list is empty.",
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
