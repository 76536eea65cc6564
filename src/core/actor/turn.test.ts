import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import * as z from "zod";
import type { Json, Message, Reply, Turn } from "../contract/index.ts";
import { testActor } from "../../testing/index.ts";
import { actor, blob, content, refuse, type RunContext } from "./index.ts";

interface State {
  n: number;
  list: { id: string }[];
  deep: { a: { b: number } };
}

type Does = (context: RunContext<State, { what: Json }>) => unknown;

function kindThat(run: Does) {
  return actor("thing", {
    description: "A thing.",
    initial: (): State => ({ n: 0, list: [{ id: "first" }], deep: { a: { b: 1 } } }),
    tools: { act: { description: "Act.", input: z.object({ what: z.json().default(null) }), run: (context) => reply(run(context)) } },
    messages: { tick: { run() {} } },
  });
}

function reply(value: unknown): string | number | boolean | object | null | undefined {
  return typeof value === "object" || typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : undefined;
}

function stageOf(run: Does) {
  return testActor(kindThat(run));
}

function refusal(given: Reply | "later" | undefined): { readonly code: string; readonly message: string; readonly data?: Json } {
  assert.ok(typeof given === "object" && "refused" in given, JSON.stringify(given));
  return given.refused;
}

const seed = fc.stringMatching(/^[0-9a-f]{32}$/);
const ends = fc.constantFrom("return", "throw", "refuse", "ask");

/** Uses most of the context, then ends as `args.what` says. */
function busy({ state, args, random, id, self, send, wake, record, emit, answer, ask }: RunContext<State, { what: Json }>): unknown {
  state.n += Math.floor(random() * 100);
  state.list.push({ id: id() });
  state.deep.a.b = state.list.length;
  send("other/x", "ping", { id: id() });
  wake("later", { afterMs: 5, message: { to: self, action: "tick", args: null } });
  record({ n: state.n });
  emit("busy");
  answer("m0", 7);
  if (args.what === "throw") throw new RangeError("crash");
  if (args.what === "refuse") refuse("No.");
  if (args.what === "ask") ask({ sure: { method: "elicitation/create", params: { message: "Sure?" } } });
  return state.list;
}

test("C3 a run that throws, refuses or asks leaves the state and no effects #actors.rollback", () => {
  const kind = kindThat(busy);
  fc.assert(
    fc.property(seed, ends, fc.nat(3), (text, end, before) => {
      const given = (what: string): Message => ({
        id: "1",
        to: "thing/x",
        action: "tools/act",
        args: { what },
        at: 1,
        seed: text,
        can: ["elicitation"],
      });
      let state = kind.initial("x", given("start"));
      for (let round = 0; round < before; round += 1) state = turnOf(kind.receive(state, given("return"))).state ?? state;
      const snapshot = structuredClone(state);
      let turn: Turn<State> | undefined;
      try {
        turn = turnOf(kind.receive(state, given(end)));
      } catch (error) {
        assert.ok(error instanceof RangeError && end === "throw");
      }
      assert.deepEqual(state, snapshot);
      if (end === "return") assert.equal(turn?.state?.list.length, before + 2);
      else if (end !== "throw") assert.deepEqual(Object.keys(turn ?? {}), ["reply"]);
    }),
  );
});

test("law 4: the same message and state give the same turn, and neither is changed", () => {
  const kind = kindThat(busy);
  fc.assert(
    fc.property(seed, fc.nat(), (text, at) => {
      const given: Message = { id: "1", to: "thing/x", action: "tools/act", args: { what: null }, at, seed: text };
      const state = kind.initial("x", given);
      assert.deepEqual(kind.receive(state, given), kind.receive(state, given));
      assert.deepEqual(state, kind.initial("x", given));
    }),
  );
});

function turnOf<S>(given: Turn<S> | ((...context: never[]) => unknown)): Turn<S> {
  assert.ok(typeof given !== "function");
  return given;
}

test("a turn has all its effects, as data", () => {
  const stage = stageOf(({ state, send, wake, cancel, record, emit, answer, stop, self, key, now, from, viewer, can, message }) => {
    state.deep.a.b = 2;
    send({ to: "other/x", action: "ping", args: { n: 1 } }, { replyAs: "tick" });
    send("other/y", "pong");
    wake("soon", { afterMs: 5, everyMs: 1_000, message: { to: self, action: "tick", args: { a: 1 } } });
    wake("once", { at: 99, message: { to: self, action: "tools/act", args: null } });
    cancel("old");
    record("one");
    record({ two: 2 });
    emit({ metric: 1 });
    answer("m0", 7);
    answer("m1", { refused: { code: "NO", message: "no" } });
    stop("enough");
    return { self, key, now, from, viewer, can: can("sampling"), id: message.id };
  });
  const turn = stage.turn("tools/act", {}, { id: "m9", at: 100, from: "other/z", can: ["sampling"], trace: { traceparent: "t" } });
  assert.deepEqual(turn, {
    state: { n: 0, list: [{ id: "first" }], deep: { a: { b: 2 } } },
    reply: { ok: { self: "thing/main", key: "main", now: 100, from: "other/z", viewer: { scopes: [] }, can: true, id: "m9" } },
    send: [
      { to: "other/x", action: "ping", args: { n: 1 }, replyAs: "tick", trace: { traceparent: "t" } },
      { to: "other/y", action: "pong", args: null, trace: { traceparent: "t" } },
    ],
    wake: { soon: { at: 105, everyMs: 1_000, action: "tick", args: { a: 1 } }, once: { at: 99, action: "tools/act" }, old: null },
    answer: { m0: { ok: 7 }, m1: { refused: { code: "NO", message: "no" } } },
    record: ["one", { two: 2 }],
    emit: [{ metric: 1 }],
    stop: "enough",
  });
});

test("a turn without effects is empty: nothing is committed", () => {
  assert.deepEqual(stageOf(() => undefined).turn("tools/act"), {});
  assert.deepEqual(stageOf(({ state }) => void (state.n += 0)).turn("tools/act"), {});
  assert.deepEqual(stageOf(({ state }) => state.list.length).turn("tools/act"), { reply: { ok: 1 } });
});

test("a reply with drafts in it is copied as they are at the end of the turn", () => {
  const stage = stageOf(({ state }) => {
    const list = state.list;
    state.list.push({ id: "second" });
    return { list, deep: state.deep.a };
  });
  const { reply: given } = stage.turn("tools/act");
  assert.deepEqual(given, { ok: { list: [{ id: "first" }, { id: "second" }], deep: { b: 1 } } });
});

test("`return later()` defers the reply; any later turn may answer #actors.later", () => {
  assert.deepEqual(
    stageOf(({ later, state }) => {
      state.n = 1;
      return later();
    }).turn("tools/act"),
    { state: { n: 1, list: [{ id: "first" }], deep: { a: { b: 1 } } }, reply: "later" },
  );
});

test("a turn reports progress of a deferred reply; the commit refuses invalid progress", async () => {
  const kind = actor("job", {
    description: "A job.",
    state: z.object({ of: z.string().default("") }),
    messages: {
      ask: {
        run({ state, message, later }) {
          state.of = message.id;
          return later();
        },
      },
      tick: {
        run({ state, args, report }) {
          const { done, total, text } = Object(args);
          report(state.of, done, total, text);
        },
      },
      replied: { replies: true, run: ({ report, args }) => report(args.of, 1) },
    },
  });
  const stage = testActor(kind);
  stage.turn("ask");
  const of = stage.state.of;
  assert.deepEqual(stage.turn("tick", { done: 1 }).report, { [of]: { done: 1 } });
  assert.deepEqual(stage.turn("tick", { done: 2, total: 3, text: "two" }).report, { [of]: { done: 2, total: 3, text: "two" } });
  for (const step of [{}, { done: "1" }, { done: 1, total: "2" }, { done: 1, text: 3 }])
    assert.throws(() => stage.turn("tick", step), { code: "BAD_TURN", message: /report is by the ids of messages, each `\{ done/ });
  assert.throws(() => stage.turn("replied", { of: "m1", to: "a/b", reply: { ok: null } }), {
    code: "BAD_TURN",
    message: /^report\(\): this is the id/,
  });
});

test("after the turn its context cannot write anywhere", () => {
  const contexts: RunContext<State, { what: Json }>[] = [];
  const states: State[] = [];
  const kind = kindThat((context) => {
    contexts.push(context);
    states.push(context.state);
    context.state.n = 1;
  });
  const first: Message = { id: "1", to: "thing/x", action: "tools/act", args: {}, at: 1, seed: "0" };
  const turn = turnOf(kind.receive(kind.initial("x", first), first));
  for (const context of contexts) {
    for (const write of [
      () => context.send("other/x", "ping"),
      () => context.wake("w", { afterMs: 1, message: { to: context.self, action: "tick", args: null } }),
      () => context.cancel("w"),
      () => context.record(1),
      () => context.emit(1),
      () => context.answer("m", 1),
      () => context.stop("x"),
      () => context.later(),
      () => context.ask({}),
    ]) {
      assert.throws(write, { code: "TURN_OVER" });
    }
  }
  for (const state of states) assert.throws(() => (state.n = 99), TypeError);
  assert.deepEqual(turn.state, { n: 1, list: [{ id: "first" }], deep: { a: { b: 1 } } });
});

test("committed states are frozen, also one that was read from disk #actors.freeze", () => {
  const stage = stageOf(({ state }) => void (state.n += 1));
  stage.turn("tools/act");
  assert.throws(() => (stage.state.n = 5), TypeError);
  assert.throws(() => stage.state.list.push({ id: "x" }), TypeError);
  const loaded: State = { n: 0, list: [], deep: { a: { b: 1 } } };
  const naughty = actor("naughty", {
    description: "",
    initial: () => loaded,
    tools: { look: { description: "", view: ({ state }) => Reflect.set(state.deep.a, "b", 9) } },
  });
  assert.deepEqual(naughty.view(structuredClone(loaded), "tools/look", {}, { scopes: [] }), { ok: false });
});

test("a promise returned by `run` is a crash with advice", () => {
  const stage = stageOf(() => Promise.reject(new Error("never heard of")));
  assert.throws(() => stage.turn("tools/act"), {
    code: "BAD_TURN",
    message: "tools/act returned a promise: a turn is synchronous, and what it awaited is lost. Use `work` for what waits.",
  });
});

test("a value that is not JSON in replies, sends, records or answers is a named crash", () => {
  assert.throws(() => stageOf(() => ({ when: new Date() })).turn("tools/act"), /What tools\/act replied is not JSON: \/when is a Date/);
  assert.throws(
    () => stageOf(({ send }) => send("other/x", "ping", { n: Number.NaN })).turn("tools/act"),
    /the arguments of a message is not JSON: \/n is NaN/,
  );
  assert.throws(() => stageOf(({ record }) => record(1n)).turn("tools/act"), /a record is not JSON/);
});

test("a wake needs an action of its kind, a time and a name; a send needs an id #actors.wakes.named", () => {
  assert.throws(
    () => stageOf(({ wake, self }) => wake("w", { afterMs: 1, message: { to: self, action: "tock", args: null } })).turn("tools/act"),
    /"tock", which this kind does not have/,
  );
  assert.throws(
    () =>
      stageOf(({ wake, self }) => wake("w", { afterMs: Number.NaN, message: { to: self, action: "tick", args: null } })).turn("tools/act"),
    /milliseconds/,
  );
  assert.throws(
    () =>
      stageOf(({ wake, self }) => wake("w", { afterMs: 1, everyMs: 0, message: { to: self, action: "tick", args: null } })).turn(
        "tools/act",
      ),
    /at least 100 milliseconds/,
  );
  assert.throws(() => stageOf(({ cancel }) => cancel("")).turn("tools/act"), /no name for a wake/);
  assert.throws(() => stageOf(({ send }) => send("other/", "ping")).turn("tools/act"), { code: "BAD_ID" });
});

test("a refusal has its code and data, also from a view or another copy of the package #actors.refuse", () => {
  assert.deepEqual(refusal(stageOf(() => refuse("No.", { code: "SHUT", data: { until: 9 } })).turn("tools/act").reply), {
    code: "SHUT",
    message: "No.",
    data: { until: 9 },
  });
  assert.deepEqual(refusal(stageOf(() => refuse("No.")).turn("tools/act").reply), { code: "REFUSED", message: "No." });
  const seer = actor("seer", { description: "", initial: () => ({}), tools: { see: { description: "", view: () => refuse("Fog.") } } });
  assert.deepEqual(testActor(seer).view("tools/see"), { refused: { code: "REFUSED", message: "Fog." } });
  const foreign = Object.assign(new Error("Elsewhere."), { [Symbol.for("troupe.refusal")]: true, code: "FAR" });
  assert.deepEqual(
    refusal(
      stageOf(() => {
        throw foreign;
      }).turn("tools/act").reply,
    ),
    { code: "FAR", message: "Elsewhere." },
  );
});

test("arguments that do not fit are refused INVALID, with paths and what was expected #actors.messages #spec.6.tools.caution #spec.7.validation.tools #spec.7.error-messages", () => {
  const kind = actor("thing", {
    description: "",
    initial: () => ({}),
    tools: {
      zod: { description: "", input: z.object({ by: z.int().max(5), to: z.object({ x: z.string() }) }), run: ({ args }) => args.by },
      json: {
        description: "",
        input: {
          type: "object",
          properties: {
            by: { type: "integer", default: 3 },
            kind: { enum: ["a", "b"] },
            to: { type: "object", required: ["x"], properties: { x: { type: "string" } } },
          },
          required: ["kind"],
          additionalProperties: false,
        },
        run: ({ args }) => args,
      },
    },
    messages: { tell: { input: z.object({ text: z.string() }), run() {} } },
  });
  const stage = testActor(kind);
  const invalid = refusal(stage.turn("tools/zod", { by: "x", to: {} }).reply);
  assert.equal(invalid.code, "INVALID");
  assert.match(invalid.message, /^Invalid arguments: by: .*expected number.*; to\.x: .*expected string.*\.$/);
  assert.match(refusal(stage.turn("tools/zod", null).reply).message, /by: .*; to: /);
  const json = refusal(stage.turn("tools/json", { by: "x", kind: "c", to: {}, extra: 1 }).reply);
  assert.deepEqual(json.data, {
    issues: [
      { path: "extra", message: "is not known" },
      { path: "by", message: "must be integer" },
      { path: "kind", message: 'must be one of "a", "b"' },
      { path: "to.x", message: "is required" },
    ],
  });
  const args = { kind: "a" };
  assert.deepEqual(stage.turn("tools/json", args).reply, { ok: { kind: "a", by: 3 } });
  assert.deepEqual(args, { kind: "a" }, "defaults are filled into a copy");
  assert.equal(refusal(stage.turn("tell", { text: 1 }).reply).code, "INVALID");
  assert.equal(refusal(stage.turn("tools/json", []).reply).code, "INVALID");
});

test("a reply is parsed by its `output` schema; one that does not fit is a crash", () => {
  let value: unknown = { n: 1, extra: true };
  const kind = actor("thing", {
    description: "",
    initial: () => ({}),
    tools: {
      act: {
        description: "",
        output: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
        run: () => reply(value),
      },
      zod: { description: "", output: z.object({ n: z.number() }), view: () => ({ n: 2, extra: true }) },
      rich: { description: "", output: z.object({ n: z.number() }), view: () => content(["two"], { n: 2 }) },
      poor: { description: "", output: z.object({ n: z.number() }), view: () => content(["two"]) },
    },
  });
  const stage = testActor(kind);
  assert.deepEqual(stage.turn("tools/act").reply, { ok: { n: 1, extra: true } });
  assert.deepEqual(stage.view("tools/zod"), { ok: { n: 2 } });
  assert.deepEqual(stage.view("tools/rich"), { ok: { "troupe/content": [{ type: "text", text: "two" }], structured: { n: 2 } } });
  assert.throws(() => stage.view("tools/poor"), /What tools\/poor replied is not its `output`/);
  value = { n: "one" };
  assert.throws(() => stage.turn("tools/act"), /What tools\/act replied is not its `output`: n: must be integer/);
  value = undefined;
  assert.throws(() => stage.turn("tools/act"), /is not its `output`/);
});

test("a reply of undefined fits an `output` only if its JSON Schema allows null, which clients get", () => {
  const kind = actor("thing", {
    description: "",
    initial: () => ({}),
    tools: {
      optional: { description: "", output: z.object({ n: z.number() }).optional(), run: () => undefined },
      nullable: { description: "", output: z.object({ n: z.number() }).nullish(), view: () => undefined },
    },
  });
  const stage = testActor(kind);
  assert.throws(() => stage.turn("tools/optional"), /is not its `output`: it is undefined, which JSON does not have/);
  assert.deepEqual(stage.view("tools/nullable"), { ok: null });
});

test("content and bytes are marked, never guessed", () => {
  assert.deepEqual(content(["a", { type: "image", data: "AA==", mimeType: "image/png" }]), {
    "troupe/content": [
      { type: "text", text: "a" },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ],
  });
  assert.deepEqual(blob(new Uint8Array([1, 2, 3]).subarray(1)), { "troupe/blob": "AgM=" });
  assert.deepEqual(blob("AgM="), { "troupe/blob": "AgM=" });
});

test("a content block that clients cannot read is BAD_TURN with its index", () => {
  const kind = actor("thing", {
    description: "",
    initial: () => ({ blocks: [{ type: "image", data: "AA==", mime_type: "image/png" }] }),
    tools: {
      view: { description: "", view: ({ state }) => content(state.blocks) },
      run: { description: "", run: ({ state }) => content(["one", ...state.blocks]) },
    },
  });
  const stage = testActor(kind);
  assert.throws(() => stage.view("tools/view"), {
    code: "BAD_TURN",
    message: /^What tools\/view replied has a block no client can read, \/0: mimeType/,
  });
  assert.throws(() => stage.turn("tools/run"), { code: "BAD_TURN", message: /\/1: mimeType/ });
  assert.throws(() => blob("no base64!"), { code: "BAD_TURN", message: /blob\(\) was given text that is not base64/ });
  assert.deepEqual(blob("AAEC"), blob(new Uint8Array([0, 1, 2])));
});

test("replies requested with `replyAs`, and a child's end, arrive typed #actors.reply-as", () => {
  const kind = actor("parent", {
    description: "",
    initial: () => ({ heard: [""] }),
    messages: {
      gained: { replies: true, run: ({ state, args }) => void state.heard.push(`${args.of} ${args.to} ${"ok" in args.reply}`) },
      ended: { run: ({ state, args }) => void state.heard.push(`${args.child} ${args.reason}`) },
    },
  });
  const stage = testActor(kind);
  stage.turn("gained", { of: "m1", to: "child/x", reply: { ok: 1 } });
  stage.turn("ended", { child: "child/x", reason: "done" });
  assert.deepEqual(stage.state.heard, ["", "m1 child/x true", "child/x done"]);
});
