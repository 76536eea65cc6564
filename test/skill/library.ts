// The code of skills/troupe/SKILL.md: actors.
import { actor, hasClaim, index, refuse } from "troupe";
import * as z from "zod";

const DAY_MS = 24 * 60 * 60_000;

const Book = z.object({ title: z.string(), reader: z.string().optional() });

export const book = actor("book", {
  description: "One book.",
  per: "link",
  initial: ({ args }) => Book.parse(args),
  state: Book,
  allow: { librarian: { holds: ({ viewer }) => hasClaim(viewer, "roles", "librarian"), reason: "Only librarians may do this." } },
  tools: {
    remove: { description: "Remove the book for good.", allow: "librarian", confirm: "Remove it?", run: ({ stop }) => stop("removed") },
  },
  messages: {
    lend: {
      output: z.object({ title: z.string() }),
      run({ state, viewer }) {
        if (state.reader !== undefined) refuse("The book is lent out. Choose another one.", { code: "LENT" });
        state.reader = viewer.principal;
        return { title: state.title };
      },
    },
    bring_back: { run: ({ state }) => void delete state.reader },
  },
});

export const available = index(book, {
  where: ({ state }) => state.reader === undefined,
  pick: ["title"],
  uri: "books://available",
  tool: "find_books",
});

export const reader = actor("reader", {
  description: "Your loans.",
  per: "user",
  state: z.object({ loans: z.record(z.string(), z.string()).default({}), reminders: z.array(z.string()).default([]) }),
  tools: {
    borrow: {
      description: "Borrow a book for two weeks.",
      input: z.object({ book: z.string() }),
      enabled: ({ state }) => Object.keys(state.loans).length < 3 || "You have three books. Return one first.",
      run: ({ args, request }) => request(book.at(args.book).lend(), "lent", { book: args.book }),
    },
    give_back: {
      description: "Return a book.",
      input: z.object({ book: z.string() }),
      choices: { book: ({ state }) => Object.keys(state.loans) },
      run({ state, args, send, settled, cancel }) {
        delete state.loans[args.book];
        cancel(args.book);
        send(book.at(args.book).bring_back());
        return settled("Thank you.");
      },
    },
    loans: { description: "List your loans.", view: ({ state }) => ({ loans: state.loans }) },
  },
  resources: {
    reminders: { uri: "reader://reminders", mimeType: "application/json", view: ({ state }) => state.reminders },
  },
  replies: {
    lent: {
      of: book.message("lend"),
      input: z.object({ book: z.string() }),
      run({ state, args, reply, wake, messages }) {
        state.loans[args.book] = reply.title;
        wake(args.book, { afterMs: 14 * DAY_MS, message: messages.due({ book: args.book }) });
        return `You have borrowed ${reply.title}.`;
      },
    },
  },
  messages: {
    due: {
      input: z.object({ book: z.string() }),
      run({ state, args }) {
        state.reminders.push(`${state.loans[args.book]} is due.`);
      },
    },
  },
});

export const library = actor("library", {
  description: "The library's books.",
  per: "shared",
  state: z.object({ added: z.int().default(0) }),
  links: { book: { kind: book, by: "book" } },
  tools: {
    add: {
      description: "Add a book. Returns its id.",
      input: z.object({ title: z.string().min(1).max(200) }),
      output: z.object({ book: z.string() }),
      run({ state, args, create, settled }) {
        const key = `B-${(state.added += 1)}`;
        create(book.at(key), args);
        return settled({ book: key });
      },
    },
  },
});
