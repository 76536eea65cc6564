import { actor } from "troupe/actor";
import { DEFAULT_POLICY, type Behaviour } from "troupe/contract";

const ROWS = 10;

const initial = () => ({
  rows: Array.from({ length: ROWS }, (_, id) => ({ id, seen: 0, tags: ["a", "b"] })),
  byKey: { a: { n: 0 }, b: { n: 0 } },
});

const isRow = (args: unknown): args is { readonly row: number } => typeof args === "object" && args !== null && "row" in args;

/** A nested state, of which each call changes one number. */
export const nested = actor("nested", {
  describe: "Rows and counts by key.",
  persistence: "memory",
  mailbox: 1_000,
  initial,
  messages: {
    see: {
      run({ state, message: { args } }) {
        const row = isRow(args) ? state.rows[args.row] : undefined;
        if (row !== undefined) row.seen += 1;
      },
    },
  },
});

/** The same turn by hand, without a draft: three objects are copied, and the rest is shared. */
export const nestedByHand: Behaviour<ReturnType<typeof initial>> = {
  kind: "nested-by-hand",
  version: 1,
  policy: { ...DEFAULT_POLICY, persistence: "memory", mailbox: 1_000 },
  initial,
  receive(state, { args }) {
    const row = isRow(args) ? state.rows[args.row] : undefined;
    if (row === undefined) return {};
    return { state: { ...state, rows: state.rows.with(row.id, { ...row, seen: row.seen + 1 }) } };
  },
};
