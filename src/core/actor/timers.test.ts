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
    ({ wake, self }) => wake("w", { afterMs: 1, message: { to: self, action: "due", args: { titel: "x" } } }),
    /^wake\("w"\): the arguments are none that "due" takes: title: /,
  ],
  [
    "none where some are needed",
    ({ wake, self }) => wake("w", { afterMs: 1, message: { to: self, action: "due", args: null } }),
    /none that "due" takes: title: /,
  ],
  [
    "a message that brings replies",
    ({ wake, self }) => wake("w", { afterMs: 1, message: { to: self, action: "answered", args: null } }),
    /"answered", which brings replies .+of its own/,
  ],
];

const due = (ctx: Context) => ({ to: ctx.self, action: "due", args: { title: "x" } });
const refusedTimes: readonly (readonly [what: string, set: (ctx: Context) => unknown, reason: RegExp])[] = [
  [
    "no expression",
    (ctx) => ctx.wake("w", { cron: "9 o'clock", message: due(ctx) }),
    /"9 o'clock" is no cron expression: give minute, hour/,
  ],
  ["a day that never comes", (ctx) => ctx.wake("w", { cron: "0 0 30 2 *", message: due(ctx) }), /never comes/],
  ["no time zone", (ctx) => ctx.wake("w", { cron: "@daily", timeZone: "Berlin", message: due(ctx) }), /"Berlin" is no time zone/],
  ["another actor", (ctx) => ctx.wake("w", { afterMs: 1, message: { ...due(ctx), to: "clock/other" } }), /sends to its own actor/],
  ["options", (ctx) => ctx.wake("w", { afterMs: 1, message: { ...due(ctx), deadline: 1 } }), /no options, so leave out deadline/],
];
for (const [what, set, reason] of refusedTimes)
  test(`a timer is refused when it is set: ${what} #actors.wakes.cron #actors.wakes.typed`, () => {
    assert.throws(() => stageOf(set).turn("tools/set"), { code: "BAD_TURN", message: reason });
  });

test("a timer by cron is set to its first time after the message, in its zone #actors.wakes.cron", () => {
  const stage = stageOf((ctx) => ctx.wake("w", { cron: "0 9 * * 1-5", timeZone: "Europe/Berlin", message: due(ctx) }));
  stage.turn("tools/set", {}, { at: Date.parse("2026-10-23T12:00:00Z") });
  const { at, cron, timeZone } = stage.timers["w"] ?? {};
  assert.deepEqual([at, cron, timeZone], [Date.parse("2026-10-26T08:00:00Z"), "0 9 * * 1-5", "Europe/Berlin"]);
});

for (const [what, set, reason] of refused)
  test(`a timer with an invalid message is refused when it is set: ${what}`, () => {
    assert.throws(() => stageOf(set).turn("tools/set"), { code: "BAD_TURN", message: reason });
  });

test("a timer stores its arguments as they were given", () => {
  const stage = stageOf(({ wake, self }) => {
    wake("w", { afterMs: 1, message: { to: self, action: "due", args: { title: "x" } } });
    wake("any", { afterMs: 1, message: { to: self, action: "tick", args: [1] } });
    wake("none", { afterMs: 1, message: { to: self, action: "tick", args: null } });
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

const typed = actor("typed", {
  description: "Its handlers know its messages.",
  state: z.object({ n: z.number().default(0) }),
  tools: {
    set: {
      description: "Set it.",
      run({ wake, messages, send }) {
        wake("w", { afterMs: 1, message: messages.due({ title: "x" }) });
        wake("daily", { cron: "@daily", message: messages.tick() });
        send(messages.tick());
      },
    },
  },
  messages: {
    due: { input: z.object({ title: z.string() }), run: ({ wake, messages }) => wake("again", { afterMs: 1, message: messages.tick() }) },
    tick: {
      run({ state }) {
        state.n += 1;
      },
    },
  },
});

test("`messages` builds an actor's own messages, for timers and sends #actors.wakes.typed", () => {
  const stage = testActor(typed, { key: "k/1" });
  stage.turn("tools/set");
  assert.deepEqual(stage.timers["w"]?.args, { title: "x" });
  assert.deepEqual(stage.sent, [{ to: "typed/k%2F1", action: "tick", args: null }]);
  assert.deepEqual(stage.turn("due", { title: "x" }).wake?.["again"]?.action, "tick");
});

export const mustNotCompile = () =>
  actor("wrong", {
    description: "Uses its messages wrongly.",
    initial: () => ({ n: 0 }),
    tools: {
      set: {
        description: "Set it.",
        run({ wake, messages, state }) {
          state.n += 1;
          // @ts-expect-error it has no such message
          wake("w", { afterMs: 1, message: messages.dou({ title: "x" }) });
          // @ts-expect-error its argument is called `title`
          wake("w", { afterMs: 1, message: messages.due({ titel: "x" }) });
          // @ts-expect-error a message is not named by text
          wake("w", { afterMs: 1, action: "due" });
          // @ts-expect-error one of `at`, `afterMs` and `cron`
          wake("w", { afterMs: 1, cron: "@daily", message: messages.due({ title: "x" }) });
          // @ts-expect-error a time zone goes with `cron`
          wake("w", { afterMs: 1, timeZone: "UTC", message: messages.due({ title: "x" }) });
        },
      },
    },
    messages: { due: { input: z.object({ title: z.string() }), run: ({ state, args }) => void (state.n += args.title.length) } },
  });
