import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { testActor } from "../../testing/index.ts";
import { actor, type RunContext } from "./index.ts";

type Context = RunContext<{ n: number }, object>;

const stageOf = (set: (ctx: Context) => unknown) =>
  testActor(
    actor("clock", {
      description: "A clock.",
      state: z.object({ n: z.number().default(0) }),
      tools: { set: { description: "Set it.", run: (ctx) => void set(ctx) } },
      messages: {
        due: {
          input: z.object({ title: z.string(), times: z.number().default(1) }),
          run({ state, args }) {
            state.n += args.times;
          },
        },
        tick: {
          run({ state }) {
            state.n += 1;
          },
        },
        answered: { replies: true, run: ({ args }) => args.of },
      },
    }),
  );

const refused: readonly (readonly [what: string, set: (ctx: Context) => unknown, reason: RegExp])[] = [
  [
    "arguments of another name",
    ({ wake }) => wake("w", { afterMs: 1, action: "due", args: { titel: "x" } }),
    /^wake\("w"\): its `args` are none that "due" takes: title: /,
  ],
  ["none where some are needed", ({ wake }) => wake("w", { afterMs: 1, action: "due" }), /none that "due" takes: title: /],
  [
    "a message that brings replies",
    ({ wake }) => wake("w", { afterMs: 1, action: "answered" }),
    /"answered", which brings replies .+of its own/,
  ],
];

for (const [what, set, reason] of refused)
  test(`a timer with an invalid message is refused when it is set: ${what}`, () => {
    assert.throws(() => stageOf(set).turn("tools/set"), { code: "BAD_TURN", message: reason });
  });

test("a timer stores its arguments as they were given", () => {
  const stage = stageOf(({ wake }) => {
    wake("w", { afterMs: 1, action: "due", args: { title: "x" } });
    wake("any", { afterMs: 1, action: "tick", args: [1] });
    wake("none", { afterMs: 1, action: "tick" });
  });
  stage.turn("tools/set");
  assert.deepEqual(
    Object.entries(stage.timers).map(([name, { args }]) => [name, args]),
    [
      ["w", { title: "x" }],
      ["any", [1]],
      ["none", undefined],
    ],
  );
});
