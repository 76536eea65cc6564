import { actor } from "troupe/actor";

const ROWS = 10;

export const initial = () => ({
  rows: Array.from({ length: ROWS }, (_, id) => ({ id, seen: 0, tags: ["a", "b"] })),
  byKey: { a: { n: 0 }, b: { n: 0 } },
});

const isRow = (args: unknown): args is { readonly row: number } => typeof args === "object" && args !== null && "row" in args;

const isKey = (args: unknown): args is { readonly key: "a" | "b" } => typeof args === "object" && args !== null && "key" in args;

/** What the author of a call writes: one number deep in the state, in an item that is found by its place. */
export const see = (state: ReturnType<typeof initial>, args: unknown): void => {
  const row = isRow(args) ? state.rows[args.row] : undefined;
  if (row !== undefined) row.seen += 1;
};

/** The same, in an object that is found by its name. */
export const tally = (state: ReturnType<typeof initial>, args: unknown): void => {
  if (isKey(args)) state.byKey[args.key].n += 1;
};

/** A nested state, of which each call changes one number. */
export const nested = actor("nested", {
  description: "Rows and counts by key.",
  persistence: "memory",
  mailbox: 1_000,
  initial,
  messages: {
    see: { run: ({ state, message: { args } }) => see(state, args) },
    tally: { run: ({ state, message: { args } }) => tally(state, args) },
  },
});
