// A hall with a torch that people take, and a bell that cannot ring: for the tests of histories and causes in the console.
import { actor } from "troupe";
import * as z from "zod";

export const bell = actor("bell", {
  description: "A bell without a clapper.",
  per: "link",
  state: z.object({ rung: z.int().default(0) }),
  messages: {
    ring: {
      run() {
        throw new Error("The bell has no clapper.");
      },
    },
  },
});

export const book = actor("book", {
  description: "The book of what happened in the hall.",
  per: "link",
  state: z.object({ lines: z.array(z.string()).default([]) }),
  messages: {
    write: {
      input: z.object({ line: z.string() }),
      run({ state, args }) {
        state.lines.push(args.line);
      },
    },
  },
});

export const hall = actor("hall", {
  description: "A hall with a torch.",
  per: "shared",
  state: z.object({ holder: z.string().optional(), notes: z.array(z.string()).default([]), alarms: z.int().default(0) }),
  tools: {
    note: {
      description: "Leave a note.",
      input: z.object({ text: z.string() }),
      run({ state, args }) {
        state.notes.push(args.text);
      },
    },
    take: {
      description: "Take something.",
      input: z.object({ item: z.string() }),
      run({ state, args, viewer, send }) {
        state.holder = viewer.principal ?? "somebody";
        send(book.at("hall").write({ line: `${state.holder} took the ${args.item}` }));
      },
    },
    open: {
      description: "Bring a bell and a book.",
      run({ create }) {
        create(bell.at("tower"));
        create(book.at("hall"));
      },
    },
    alarm: {
      description: "Ring the bell.",
      run({ state, send }) {
        state.alarms += 1;
        send(book.at("hall").write({ line: "An alarm" }));
        send(bell.at("tower").ring());
      },
    },
  },
});
