// The code of docs/guide/tools.md.
import { actor, refuse } from "troupe";
import * as z from "zod";

const Coins = z.object({ coins: z.int().min(1).max(100) });

export const wallet = actor("wallet", {
  description: "Your wallet.",
  per: "user",
  state: z.object({ coins: z.int().default(0) }),
  tools: {
    earn: {
      description: "Put coins in.",
      input: Coins,
      run({ state, args }) {
        state.coins += args.coins;
        return `You have ${state.coins} coins.`;
      },
    },
    spend: {
      description: "Take coins out.",
      input: Coins,
      enabled: ({ state }) => state.coins > 0 || "Your wallet is empty.",
      run({ state, args }) {
        if (args.coins > state.coins) refuse(`You have only ${state.coins} coins.`);
        state.coins -= args.coins;
        return `You have ${state.coins} coins left.`;
      },
    },
    balance: {
      description: "Count the coins.",
      output: z.object({ coins: z.int() }),
      view: ({ state }) => ({ coins: state.coins }),
    },
  },
});

export const shelf = actor("shelf", {
  description: "Your books.",
  per: "user",
  state: z.object({ books: z.array(z.string()).default(["Dune", "Emma"]) }),
  tools: {
    give_away: {
      description: "Give a book away.",
      input: z.object({ title: z.string() }),
      choices: { title: ({ state }) => state.books },
      run({ state, args }) {
        state.books = state.books.filter((title) => title !== args.title);
      },
    },
    clear: {
      description: "Give all books away.",
      annotations: { destructiveHint: true },
      confirm: ({ state }) => (state.books.length > 0 ? `Give away ${state.books.length} books?` : undefined),
      run({ state }) {
        state.books = [];
      },
    },
    surprise: {
      description: "Pick a book to read.",
      run: ({ state, random }) => state.books[Math.floor(random() * state.books.length)] ?? "You have no books.",
    },
  },
});
