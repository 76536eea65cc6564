import { refuse } from "troupe";
import { actorCapability, auditLog, capability, counter, idle, mcpCapability, PacketError } from "troupe/packet";
import * as z from "zod";
import { checkDigit } from "./check-digit.ts";

/** A capability without state. */
export const countWords = capability("count_words", {
  intent: "Count the words of a text",
  requires: ["text"],
  provides: ["words"],
  effects: [counter("words.counted")],
  execute({ text }) {
    if (typeof text !== "string") throw new PacketError("validation_failed", "text must be text.");
    return { words: text.match(/\S+/g)?.length ?? 0 };
  },
});

/** Requires what `count_words` provides, so a chain of both turns a text into minutes. */
export const readingTime = capability("reading_time", {
  intent: "Say how many minutes so many words take to read",
  requires: ["words"],
  provides: ["minutes"],
  parameters: { type: "object", properties: { words: { type: "integer", minimum: 0 } } },
  execute({ words }) {
    if (typeof words !== "number") throw new PacketError("validation_failed", "words must be a number.");
    return { minutes: Math.ceil(words / 230) };
  },
});

const DAY = 24 * 3_600_000;

/** A capability with state: one actor for each `actor_id`. */
export const readingList = actorCapability("reading_list", {
  intent: "Keep a list of books to read",
  initialState: { books: Array<{ title: string; since: number }>(), waiting: 0 },
  persistence: "disk",
  timeout: idle(7 * DAY),
  effects: [auditLog("info", "reading")],
  search: ["payload:add"],
  parameters: {
    type: "object",
    properties: {
      add: { type: "string", maxLength: 200, description: "A book to put on the list" },
      list: { const: true, description: "To see the list" },
      borrow: { const: true, description: "To borrow its first book from the library" },
      done: { const: true, description: "To end the list" },
      actor_id: { type: "string", description: "Which list; your own by default" },
    },
  },
  messages: {
    add: {
      match: z.object({ add: z.string().trim().min(1).max(200) }),
      run({ state, payload, now }) {
        if (state.books.some(({ title }) => title === payload.add)) refuse(`${payload.add} is on the list.`, { code: "ALREADY" });
        if (state.books.length === 100) refuse("A hundred are enough: read one first.", { code: "FULL" });
        state.books.push({ title: payload.add, since: now });
        return { books: state.books.length };
      },
    },
    list: {
      match: { list: true },
      view: ({ state: { books, waiting } }) => ({ books: books.map(({ title }) => title), waiting }),
    },
    borrow: {
      match: { borrow: true },
      async work({ state, mcp }) {
        const [next] = state.books;
        if (next === undefined) return refuse("The list is empty.", { code: "EMPTY" });
        const { text } = await mcp("library").call("borrow", { title: next.title });
        state.books.shift();
        return { borrowed: text };
      },
    },
    done: {
      match: { done: true },
      run({ state, stop }) {
        const left = state.books.length;
        state.books = [];
        stop("done");
        return { left };
      },
    },
  },
  periodic: {
    count: {
      everyMs: DAY,
      run({ state, now }) {
        state.waiting = state.books.filter(({ since }) => now - since > 30 * DAY).length;
      },
    },
  },
});

const digits = { isbn: { type: "string", pattern: "^97[89][0-9]{9,10}$" } };

/** One capability with several tools. */
export const isbn = mcpCapability("isbn", {
  intent: "Check and complete the numbers of books",
  tools: {
    isbn_check: { description: "Are these thirteen digits an ISBN?", parameters: digits, required: ["isbn"] },
    isbn_complete: { description: "Add its last digit to the first twelve of an ISBN.", parameters: digits, required: ["isbn"] },
  },
  handleToolCall(name, parameters) {
    const number = parameters["isbn"];
    if (typeof number !== "string" || number.length < 12) throw new PacketError("validation_failed", "isbn must be 12 or 13 digits.");
    const last = checkDigit(number.slice(0, 12));
    return name === "isbn_check" ? { valid: number[12] === last } : { isbn: number.slice(0, 12) + last };
  },
});
