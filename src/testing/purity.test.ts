import assert from "node:assert/strict";
import { test } from "node:test";
import { actor } from "../core/actor/index.ts";
import { type Behaviour, DEFAULT_POLICY, type Message, type Turn } from "../core/contract/index.ts";
import { LocalEngine } from "../core/engine/index.ts";
import { memoryStore } from "../core/store/index.ts";
import { SimulatedClock, testActor, twice } from "./index.ts";

function kindWith(run: (state: { n: number; list: number[] }) => unknown) {
  return actor("thing", {
    description: "A thing.",
    initial: () => ({ n: 0, list: [1] }),
    tools: { act: { description: "Act.", run: ({ state }) => void run(state) } },
  });
}

function impure(pattern: RegExp) {
  return { name: "EngineError", code: "IMPURE", message: pattern };
}

test("law 4: a turn that reads the clock is named with the path that differs #cli.dev.twice", () => {
  assert.throws(
    () => testActor(kindWith((state) => (state.n = Date.now()))).turn("tools/act"),
    impure(/the turn of tools\/act is not pure: .*\/state\/n/),
  );
  assert.throws(() => testActor(kindWith((state) => (state.n = new Date().getTime()))).turn("tools/act"), impure(/\/state\/n/));
  assert.ok(Math.abs(Date.now() - new Date().getTime()) < 10_000, "the clock is the real one again");
});

test("law 4: a turn that uses Math.random is named with the path that differs", () => {
  assert.throws(() => testActor(kindWith((state) => state.list.push(Math.random()))).turn("tools/act"), impure(/\/state\/list\/1/));
});

test("law 4: a turn that stores something outside its state is found", () => {
  let seen = 0;
  assert.throws(() => testActor(kindWith((state) => (state.n = seen += 1))).turn("tools/act"), impure(/\/state\/n \(1 and 2\)/));
});

test("law 4: a pure turn passes and its result is the turn's", () => {
  const stage = testActor(kindWith((state) => (state.n += new Date(5).getTime())));
  assert.deepEqual(stage.turn("tools/act"), { state: { n: 5, list: [1] } });
  assert.deepEqual(stage.state, { n: 5, list: [1] });
});

test("law 4: a throw is the same outcome twice, and reaches the caller", () => {
  const stage = testActor(
    kindWith(() => {
      throw new RangeError("no");
    }),
  );
  assert.throws(() => stage.turn("tools/act"), { name: "RangeError", message: "no" });
});

class Scribbler implements Behaviour<{ n: number }> {
  readonly kind = "scribbler";
  readonly version = 1;
  readonly policy = DEFAULT_POLICY;
  readonly #by = 1;
  initial(): { n: number } {
    return { n: 0 };
  }
  receive(state: { n: number }, message: Message): Turn<{ n: number }> {
    if (message.action === "fair") return { state: { n: state.n + this.#by } };
    state.n += this.#by;
    return { state };
  }
}

test("law 4: a behaviour that writes to the given state is found, also as a class instance", () => {
  const stage = testActor(new Scribbler());
  assert.deepEqual(stage.turn("fair"), { state: { n: 1 } });
  assert.throws(() => stage.turn("foul"), impure(/it changed what it was given, at \/state\/n/));
});

test("law 4: initial, views and surfaces are checked as well", () => {
  const born = actor("thing", { description: "", initial: () => ({ n: Math.random() }), tools: {} });
  assert.throws(() => testActor(born), impure(/thing: initial is not pure/));
  const seer = twice(
    actor("thing", {
      description: "",
      initial: () => ({ n: 0 }),
      tools: { see: { description: "", view: () => Math.random(), enabled: () => Math.random() > 2 || String(Math.random()) } },
    }),
  );
  assert.throws(() => seer.surface?.({ n: 0 }, { scopes: [] }), impure(/its surface/));
  assert.throws(() => seer.view?.({ n: 0 }, "tools/see", {}, { scopes: [] }), impure(/the view tools\/see/));
});

test("law 4: work runs once, since it may differ", async () => {
  let runs = 0;
  const worker = actor("thing", {
    description: "",
    initial: () => ({ n: 0 }),
    tools: {
      act: {
        description: "",
        async work({ state, call }) {
          runs += 1;
          state.n = Date.now();
          return call("other/x", "ping");
        },
      },
    },
  });
  const stage = testActor(worker, { call: (message) => ({ ok: message.action }) });
  assert.deepEqual((await stage.work("tools/act")).reply, { ok: { ok: "ping" } });
  assert.equal(runs, 1);
});

test("law 4: a function in a state is left to the engine, which names its path", () => {
  const kind = kindWith((state) => Object.assign(state, { list: [() => 1], n: Symbol("n") }));
  assert.throws(() => testActor(kind).turn("tools/act"), { code: "STATE_NOT_JSON" });
});

test("a reply to a stopped actor is dropped without a fault, also if run twice #cli.dev.twice", async () => {
  const echo = actor("echo", { description: "", autoStart: true, initial: () => ({}), messages: { hi: { run: () => "hello" } } });
  const asker = actor("asker", {
    description: "",
    initial: () => ({}),
    tools: {
      leave: {
        description: "",
        run({ request, stop }) {
          stop("enough");
          return request(echo.at("a").hi({}), "heard");
        },
      },
    },
    replies: { heard: { of: echo.message("hi"), run: ({ reply }) => reply } },
  });
  const faults: unknown[] = [];
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({
    kinds: [twice(echo), twice(asker)],
    store: memoryStore({ clock }),
    clock,
    onFault: (error) => void faults.push(error),
  });
  const reply = await engine.call({ to: asker.id("main"), action: "tools/leave", args: {} });
  assert.partialDeepStrictEqual(reply, { refused: { code: "ACTOR_STOPPED" } });
  await clock.advance(60_000);
  assert.deepEqual(faults, []);
});
