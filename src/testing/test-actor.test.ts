// testActor applies a turn as an engine does, and refuses what an engine refuses, in the same words.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, refuse } from "../core/actor/index.ts";
import { type Behaviour, DEFAULT_POLICY, type Turn } from "../core/contract/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { assertRefused, testActor, type TestActor } from "./index.ts";

type State = Record<string, unknown>;

const wrong: readonly (readonly [what: string, value: unknown, code: string])[] = [
  ["a Date", new Date(0), "STATE_NOT_JSON"],
  ["undefined", undefined, "STATE_NOT_JSON"],
  ["NaN", [Number.NaN], "STATE_NOT_JSON"],
  ["3 MB", "x".repeat(3_000_000), "STATE_TOO_LARGE"],
  ["what is too large only with what was there", "x".repeat(1_048_570), "STATE_TOO_LARGE"],
];

function kindThat(run: (state: State) => unknown, initial: () => State = () => ({ n: 1, list: [1] })) {
  return actor("thing", {
    description: "A thing.",
    persistence: "memory",
    initial,
    messages: { act: { run: ({ state }) => void run(state) } },
  });
}

/** The error that an engine's caller gets. */
async function errorFrom(kind: Behaviour): Promise<{ code: string; message: string }> {
  await using engine = await LocalEngine.start({ kinds: [kind] });
  const error: unknown = await engine.call({ to: "thing/main", action: "act", args: {}, start: null }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof Error && "code" in error && typeof error.code === "string");
  return { code: error.code, message: error.message };
}

for (const [what, value, code] of wrong)
  test(`testActor refuses ${what} in a state as an engine does, from a turn, work or \`initial\``, async () => {
    const writes = kindThat((state) => (state["n"] = value));
    const begins = kindThat(
      () => undefined,
      () => ({ n: value, list: [1] }),
    );
    const expected = await errorFrom(writes);
    assert.equal(expected.code, code);
    const subject = testActor(writes);
    assert.throws(() => subject.turn("act"), expected);
    assert.deepEqual(subject.state, { n: 1, list: [1] });
    await assert.rejects(subject.work("act"), expected);
    const first = await errorFrom(begins);
    assert.equal(first.code, code);
    assert.throws(() => testActor(begins), first);
    assert.throws(() => testActor(writes, { state: { n: value, list: [1] } }), first);
  });

test("testActor freezes every state, and a turn that changes nothing leaves the same object", () => {
  const subject = testActor(
    kindThat((state) => void (state["n"] = Number(state["n"]) || 2)),
    { state: { n: 0, list: [1] } },
  );
  assert.throws(() => (subject.state["n"] = 9), TypeError);
  subject.turn("act");
  const { state } = subject;
  assert.deepEqual(state, { n: 2, list: [1] });
  assert.ok(Object.isFrozen(state) && Object.isFrozen(state["list"]));
  subject.turn("act");
  assert.equal(subject.state, state);
});

/** One that gives the turns it is made with. */
function kindOf(...turns: readonly Turn<{ n: number }>[]): Behaviour<{ n: number }> {
  return {
    kind: "thing",
    version: 1,
    policy: DEFAULT_POLICY,
    initial: () => ({ n: 0 }),
    receive: (_state, { args }) => turns[Number(args)] ?? {},
  };
}

test("C3 testActor drops the effects of a refused turn", () => {
  const wake = { at: 1, action: "rang" };
  const effects = { state: { n: 1 }, send: [{ to: "other/x", action: "ping", args: null }], emit: ["x"], wake: { soon: wake } } as const;
  const subject = testActor(kindOf({ ...effects, stop: "over", reply: { refused: { code: "NO", message: "No." } } }, effects));
  subject.turn("act", 0);
  assert.deepEqual([subject.state, subject.sent, subject.emitted, subject.timers, subject.stopped], [{ n: 0 }, [], [], {}, undefined]);
  subject.turn("act", 1);
  assert.deepEqual([subject.state, subject.sent, subject.emitted, subject.timers], [{ n: 1 }, effects.send, ["x"], { soon: wake }]);
});

test("testActor checks a turn's reply, sends, timers and emitted values", () => {
  const bad: readonly (readonly [turn: object, message: RegExp])[] = [
    [{ reply: { ok: new Date(0) } }, /reply\.ok is a Date/],
    [{ emit: [undefined] }, /emit\[0\] is undefined/],
    [{ wake: { soon: { at: Number.NaN, action: "rang" } } }, /"soon" has no time/],
    [{ send: [{ to: "other/x", action: "ping", args: { at: new Date(0) } }] }, /send\[0\]\.args\.at is a Date/],
    [Promise.resolve({}), /neither a turn nor work/],
  ];
  for (const [turn, message] of bad) assert.throws(() => testActor(kindOf(turn)).turn("act", 0), { message });
});

test("C1 testActor handles one message at a time, work included", async () => {
  const tally = actor("tally", {
    description: "",
    initial: () => ({ n: 0 }),
    tools: {
      add: {
        description: "",
        async work({ state }) {
          await Promise.resolve();
          if (state.n === 1) throw new Error("No.");
          state.n += 1;
        },
      },
      read: { description: "", run: ({ state }) => state.n },
    },
  });
  const subject = testActor(tally);
  const first = subject.work("tools/add");
  const second = subject.work("tools/add");
  assert.throws(() => subject.turn("tools/read"), /tools\/read cannot run while the actor is at work/);
  await first;
  assert.equal(subject.state.n, 1);
  await assert.rejects(second, /No\./);
  assert.deepEqual(subject.turn("tools/read").reply, { ok: 1 });
});

test("testActor refuses messages to an actor that has stopped, unless they start it anew", () => {
  const ends = {
    description: "",
    initial: () => ({ n: 0 }),
    tools: {
      end: {
        description: "",
        run({ state, stop }: { state: { n: number }; stop: (reason: string) => void }): void {
          state.n += 1;
          stop("over");
        },
      },
    },
  };
  const own = testActor(actor("own", { ...ends, per: "link" }));
  own.turn("tools/end");
  assert.throws(() => own.turn("tools/end"), { code: "ACTOR_STOPPED" });
  assert.deepEqual([own.state, own.stopped], [{ n: 1 }, "over"]);
  const shared = testActor(actor("shared", ends), { state: { n: 5 } });
  shared.turn("tools/end");
  assert.equal(shared.stopped, "over");
  shared.turn("tools/end");
  assert.deepEqual([shared.state, shared.stopped], [{ n: 1 }, "over"]);
});

test("C3 a refused message does not start a stopped actor in testActor", async () => {
  const subject = testActor(
    actor("shared", {
      description: "",
      initial: () => ({ n: 0 }),
      tools: {
        end: {
          description: "",
          run({ state, stop }) {
            state.n = 7;
            stop("over");
          },
        },
        refuse: { description: "", run: () => refuse("Not now.") },
        crash: {
          description: "",
          run() {
            throw new Error("a mistake");
          },
        },
        work: { description: "", work: () => Promise.reject(new Error("a mistake")) },
        look: { description: "", run: ({ state }) => state.n },
      },
    }),
  );
  subject.turn("tools/end");
  assertRefused(subject.turn("tools/refuse"), "Not now.");
  assert.throws(() => subject.turn("tools/crash"), /a mistake/);
  await assert.rejects(subject.work("tools/work"), /a mistake/);
  assert.deepEqual([subject.state, subject.stopped], [{ n: 7 }, "over"]);
  assert.deepEqual(subject.turn("tools/look").reply, { ok: 0 });
  assert.equal(subject.stopped, undefined);
});

test("testActor refuses a time that is not a number", () => {
  assert.throws(() => testActor(kindOf(), { at: Number.NaN }), /is a number of milliseconds, not NaN/);
});

test("testActor undoes turns as an engine does", async () => {
  const list = actor("list", {
    description: "",
    initial: () => ({ items: ["milk"] }),
    undo: { withinMs: 600_000 },
    tools: {
      add: { description: "", input: z.object({ item: z.string() }), run: ({ state, args }) => void state.items.push(args.item) },
      remind: {
        description: "",
        run({ state, wake, messages }) {
          state.items.push("timer");
          wake("ring", { afterMs: 60_000, message: messages.ring() });
        },
      },
      look: { description: "", run: ({ state }) => state.items.length },
    },
    messages: { ring: { run: () => undefined } },
  });
  const subject = testActor(list, { viewer: { principal: "ann", scopes: [] } });
  subject.turn("tools/add", { item: "tea" });
  subject.turn("tools/add", { item: "jam" });
  subject.turn("tools/look");
  assert.deepEqual((await subject.work("tools/undo")).reply, { ok: "Undone: add." });
  assert.deepEqual(subject.state, { items: ["milk", "tea"] });
  assert.deepEqual((await subject.work("tools/undo")).reply, { ok: "Undone: add." });
  assert.deepEqual(subject.state, { items: ["milk"] });
  assertRefused(await subject.work("tools/undo"), "There is nothing of yours to undo.");
  subject.turn("tools/remind");
  assertRefused(await subject.work("tools/undo"), /it set a timer/);
});

test("work in testActor that waits for work of the same actor is refused as an engine does", { timeout: 5_000 }, async () => {
  const calls = actor("calls", {
    description: "",
    initial: () => ({}),
    tools: {
      twice: { description: "", work: async ({ call }) => void (await call({ to: "calls/main", action: "tools/twice", args: {} })) },
    },
  });
  const subject: TestActor<object> = testActor(calls, {
    call: async () => {
      await Promise.resolve();
      const { reply } = await subject.work("tools/twice");
      return reply === undefined || reply === "later" ? { ok: null } : reply;
    },
  });
  await assert.rejects(subject.work("tools/twice"), { code: "CYCLE" });
});

test("what work has started may begin work after it in testActor", async () => {
  let later: Promise<unknown> = Promise.resolve();
  const own: TestActor<object> = testActor(
    actor("own", {
      description: "",
      initial: () => ({}),
      tools: {
        start: {
          description: "",
          work() {
            later = new Promise((resolve) => setImmediate(() => resolve(own.work("tools/look"))));
            return Promise.resolve("started");
          },
        },
        look: { description: "", work: () => Promise.resolve("seen") },
      },
    }),
  );
  await own.work("tools/start");
  assert.equal(JSON.stringify(await later).includes("seen"), true);
});
