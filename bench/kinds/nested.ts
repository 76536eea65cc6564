import { actor } from "troupe/actor";

const ROWS = 10;

export const initial = () => ({
  rows: Array.from({ length: ROWS }, (_, id) => ({ id, seen: 0, tags: ["a", "b"] })),
  byKey: { a: { n: 0 }, b: { n: 0 } },
});

const isRow = (args: unknown): args is { readonly row: number } => typeof args === "object" && args !== null && "row" in args;

const isKey = (args: unknown): args is { readonly key: "a" | "b" } => typeof args === "object" && args !== null && "key" in args;

/** Increments a number in an array element, which is found by its index. */
export const see = (state: ReturnType<typeof initial>, args: unknown): void => {
  const row = isRow(args) ? state.rows[args.row] : undefined;
  if (row !== undefined) row.seen += 1;
};

/** Increments a number in an object, which is found by its key. */
export const tally = (state: ReturnType<typeof initial>, args: unknown): void => {
  if (isKey(args)) state.byKey[args.key].n += 1;
};

/** An actor with a nested state. Each call changes one number. */
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
