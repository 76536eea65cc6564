import { actor, elicit, refuse } from "troupe";
import * as z from "zod";

const Book = z.object({ title: z.string() });

/** The shelf that all readers share. Clients cannot reach it; only readers send it messages. */
export const shelf = actor("shelf", {
  description: "A shelf of books.",
  per: "link",
  autoStart: true,
  state: z.object({ free: z.array(z.string()).default(["Dune", "Emma"]) }),
  messages: {
    take: {
      input: Book,
      output: z.string(),
      run({ state, args }) {
        if (!state.free.includes(args.title)) refuse(`${args.title} is lent.`);
        state.free = state.free.filter((title) => title !== args.title);
        return args.title;
      },
    },
    put_back: {
      input: Book,
      run({ state, args }) {
        state.free.push(args.title);
      },
    },
  },
});

/** A borrower: one actor for each principal. */
export const reader = actor("reader", {
  description: "A reader.",
  per: "user",
  state: z.object({
    books: z.array(z.string()).default([]),
    overdue: z.array(z.string()).default([]),
  }),
  tools: {
    borrow: {
      description: "Borrow a book for two weeks.",
      input: Book,
      run: ({ request, args }) => request(shelf.at("main").take({ title: args.title }), "taken"),
    },
    give_back: {
      description: "Give a book back.",
      input: Book,
      enabled: ({ state }) => state.books.length > 0 || "You have no book.",
      choices: { title: ({ state }) => state.books },
      run(ctx) {
        const { title } = ctx.args;
        if (ctx.can("elicitation")) {
          const { read } = ctx.ask({ read: elicit(`Have you read ${title}?`, z.object({ rating: z.number().int().min(1).max(5) })) });
          if (read.action !== "accept") refuse("Then keep it a while.");
          ctx.record({ title, rating: read.content.rating });
        }
        ctx.state.books = ctx.state.books.filter((book) => book !== title);
        ctx.state.overdue = ctx.state.overdue.filter((book) => book !== title);
        ctx.cancel(title);
        ctx.send(shelf.at("main").put_back({ title }));
        return "Thank you.";
      },
    },
  },
  messages: {
    due: {
      input: Book,
      run({ state, args }) {
        state.overdue.push(args.title);
      },
    },
  },
  replies: {
    taken: {
      of: shelf.message("take"),
      run({ state, reply: title, wake, messages }) {
        state.books.push(title);
        wake(title, { afterMs: 14 * 86_400_000, message: messages.due({ title }) });
        return title;
      },
    },
  },
  resources: {
    books: { uri: "library://mine", mimeType: "application/json", reads: ["books"], view: ({ state }) => state.books },
    book: {
      uri: "library://mine/{title}",
      choices: { title: ({ state }) => state.books },
      view: ({ state, args }) => `${args.title}: ${state.overdue.includes(args.title) ? "overdue" : "borrowed"}.`,
    },
  },
  prompts: {
    next: {
      description: "What to read next",
      input: z.object({ mood: z.string() }),
      view: ({ state, args }) => `I have read ${state.books.join(", ") || "nothing"} and feel ${args.mood}. What should I read next?`,
    },
  },
});
