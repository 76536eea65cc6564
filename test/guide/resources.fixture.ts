// The code of docs/guide/resources-and-prompts.md.
import { actor } from "troupe";
import * as z from "zod";

export const reader = actor("reader", {
  description: "Your reading list.",
  per: "user",
  state: z.object({
    books: z.record(z.string(), z.string()).default({ Dune: "Arrakis is dry.", Emma: "She is rich." }),
    visits: z.int().default(0),
  }),
  resources: {
    titles: {
      uri: "books://mine",
      mimeType: "application/json",
      view: ({ state }) => Object.keys(state.books),
    },
    book: {
      uri: "books://mine/{title}",
      mimeType: "text/plain",
      reads: ["books"],
      listed: true,
      choices: { title: ({ state }) => Object.keys(state.books) },
      view: ({ state, args }) => state.books[args.title] ?? "You do not have this book.",
    },
  },
  prompts: {
    next: {
      description: "What to read next",
      input: z.object({ mood: z.string() }),
      view: ({ state, args }) => `I have read ${Object.keys(state.books).join(", ")}. I feel ${args.mood}. What next?`,
    },
  },
  tools: {
    visit: { description: "Visit the library.", run: ({ state }) => void (state.visits += 1) },
    add: {
      description: "Add a book.",
      input: z.object({ title: z.string(), text: z.string() }),
      run({ state, args }) {
        state.books[args.title] = args.text;
      },
    },
  },
});
