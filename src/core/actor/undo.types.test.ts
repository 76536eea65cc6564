import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, type StateOf } from "./index.ts";

// What must not compile is in functions that are never called, since it is refused at run time too.

const counting = z.object({ n: z.number().default(0) });
const by = z.object({ by: z.number() });

const shop = actor("shop", {
  description: "Tools that are taken back.",
  state: counting,
  undo: { withinMs: 1_000 },
  tools: {
    take: { description: "Take.", input: by, undo: "put_back", run: ({ state, args }) => (state.n -= args.by) },
    put_back: { description: "Put back.", input: by, undo: false, run: ({ state, args }) => (state.n += args.by) },
    note: { description: "Note.", input: by, undo: "unnote", run: ({ args }) => args.by.toFixed() },
  },
  messages: { unnote: { run: ({ state }) => void (state.n -= 1) } },
});

test("types: `undo` names a tool or a message, and leaves inference as it is", () => {
  const now: StateOf<typeof shop> = { n: 1 };
  assert.deepEqual(shop.at("a").unnote(), { to: "shop/a", action: "unnote", args: null });
  assert.equal(now.n, 1);
});

export const mustNotCompile = {
  undoneByUnknown: () =>
    actor("a", {
      description: "",
      state: counting,
      tools: {
        take: {
          description: "",
          input: by,
          // @ts-expect-error -- there is no such tool or message
          undo: "putback",
          // The arguments are inferred all the same.
          run: ({ args }) => args.by.toFixed(),
        },
        put_back: { description: "", run: () => 1 },
      },
    }),
  undoWord: () =>
    actor("a", {
      description: "",
      state: counting,
      // @ts-expect-error -- `withinMs` is needed
      undo: {},
      tools: { x: { description: "", run: () => 1 } },
    }),
};
