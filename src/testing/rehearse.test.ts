// What a turn leaves at a rehearsal is what the server would leave, and what that refuses is refused in the same words.
import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../core/actor/index.ts";
import { type Behaviour, DEFAULT_POLICY, type Turn } from "../core/contract/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { rehearse } from "./index.ts";

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

/** What a caller of the server is told. */
async function toldBy(kind: Behaviour): Promise<{ code: string; message: string }> {
  await using engine = await LocalEngine.start({ kinds: [kind] });
  const error: unknown = await engine.call({ to: "thing/main", action: "act", args: {}, start: null }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof Error && "code" in error && typeof error.code === "string");
  return { code: error.code, message: error.message };
}

for (const [what, value, code] of wrong)
  test(`a rehearsal refuses ${what} in a state as the server does, whether a turn, work or its beginning puts it there`, async () => {
    const writes = kindThat((state) => (state["n"] = value));
    const begins = kindThat(
      () => undefined,
      () => ({ n: value, list: [1] }),
    );
    const told = await toldBy(writes);
    assert.equal(told.code, code);
    const stage = rehearse(writes);
    assert.throws(() => stage.turn("act"), told);
    assert.deepEqual(stage.state, { n: 1, list: [1] });
    await assert.rejects(stage.work("act"), told);
    const first = await toldBy(begins);
    assert.equal(first.code, code);
    assert.throws(() => rehearse(begins), first);
    assert.throws(() => rehearse(writes, { state: { n: value, list: [1] } }), first);
  });

test("a state that is rehearsed is frozen, whoever made it, and a turn that changes nothing leaves the same", () => {
  const stage = rehearse(
    kindThat((state) => void (state["n"] = Number(state["n"]) || 2)),
    { state: { n: 0, list: [1] } },
  );
  assert.throws(() => (stage.state["n"] = 9), TypeError);
  stage.turn("act");
  const { state } = stage;
  assert.deepEqual(state, { n: 2, list: [1] });
  assert.ok(Object.isFrozen(state) && Object.isFrozen(state["list"]));
  stage.turn("act");
  assert.equal(stage.state, state);
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

test("C3 of what came with a refusal a rehearsal keeps nothing", () => {
  const wake = { at: 1, action: "rang" };
  const effects = { state: { n: 1 }, send: [{ to: "other/x", action: "ping", args: null }], emit: ["x"], wake: { soon: wake } } as const;
  const stage = rehearse(kindOf({ ...effects, stop: "over", reply: { refused: { code: "NO", message: "No." } } }, effects));
  stage.turn("act", 0);
  assert.deepEqual([stage.state, stage.sent, stage.emitted, stage.wakes, stage.stopped], [{ n: 0 }, [], [], {}, undefined]);
  stage.turn("act", 1);
  assert.deepEqual([stage.state, stage.sent, stage.emitted, stage.wakes], [{ n: 1 }, effects.send, ["x"], { soon: wake }]);
});

test("what a turn says beside its state is held to what it must be, at a rehearsal too", () => {
  const bad: readonly (readonly [turn: object, told: RegExp])[] = [
    [{ reply: { ok: new Date(0) } }, /reply\.ok is a Date/],
    [{ emit: [undefined] }, /emit\[0\] is undefined/],
    [{ wake: { soon: { at: Number.NaN, action: "rang" } } }, /"soon" has no time/],
    [{ send: [{ to: "other/x", action: "ping", args: { at: new Date(0) } }] }, /send\[0\]\.args\.at is a Date/],
    [Promise.resolve({}), /neither a turn nor work/],
  ];
  for (const [turn, message] of bad) assert.throws(() => rehearse(kindOf(turn)).turn("act", 0), { message });
});
