import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { actor, fromJsonSchema } from "../../core/actor/index.ts";
import {
  type JsonObject,
  type CallOptions,
  EngineError,
  isJsonObject,
  type Json,
  type OfferRef,
  type Outgoing,
  type Receipt,
  type Reply,
  type Source,
  type Viewer,
} from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { FakeEngine } from "../../../test/source/fake-engine.ts";
import { cast, merge, prefix, registry } from "./index.ts";
import * as z from "zod";

/** A walker is in a room; each step leads to the next one, and replies when the walker has arrived. */
const walker = actor("walker", {
  description: "Walks.",
  per: "user",
  initial: () => ({ room: 0 }),
  links: { "": { kinds: ["room"], to: ({ state: { room } }) => `room/${room}` as const } },
  messages: {
    begin: { run: () => null },
    arrive: {
      run({ state }) {
        state.room += 1;
      },
    },
  },
});

const room = actor("room", {
  description: "A room.",
  per: "link",
  autoStart: true,
  initial: () => ({ left: 0, called: "" }),
  tools: {
    step: {
      description: "Go on.",
      run({ state, viewer, send, message, later }) {
        state.left += 1;
        state.called = message.id;
        if (viewer.self !== undefined) send(viewer.self, "arrive", {}, { replyAs: "moved" });
        return later();
      },
    },
    wave: {
      description: "Wave.",
      run({ state }) {
        state.left += 0.5;
        return "You wave.";
      },
    },
  },
  messages: {
    moved: {
      run({ state, answer }) {
        answer(state.called, { ok: "You go on." });
      },
    },
  },
});

const kinds = [walker, room];
const ann: Viewer = { principal: "ann", scopes: [] };

const roomOf = async (engine: LocalEngine): Promise<unknown> => (await engine.read("walker/ann"))?.state;
const step = (source: Source, viewer = ann, key = "one", onReceipt?: (receipt: Receipt) => void) =>
  source.act(viewer, "tools/step", {}, { key, ...(onReceipt === undefined ? {} : { onReceipt }) });

test("C4 a retry goes to the actor of the first call after the link changed, also in another process", async () => {
  const store = memoryStore();
  {
    await using engine = await LocalEngine.start({ kinds, store });
    const source = cast({ engine, kinds });
    const receipts: Receipt[] = [];
    assert.deepEqual(await step(source, ann, "one", (receipt) => receipts.push(receipt)), { ok: "You go on." });
    assert.deepEqual(
      receipts.map(({ actor: id, seq }) => [id, seq]),
      [["room/0", 2]],
      "a deferred reply has the receipt of the turn that resolved it",
    );
    assert.deepEqual(await step(source), { ok: "You go on." });
    assert.deepEqual(await roomOf(engine), { room: 1 });
    assert.deepEqual(await step(cast({ engine, kinds })), { ok: "You go on." }, "another cast of the same engine");
  }
  await using engine = await LocalEngine.start({ kinds, store });
  const source = cast({ engine, kinds });
  assert.deepEqual(await step(source), { ok: "You go on." });
  assert.deepEqual(await roomOf(engine), { room: 1 });
  assert.deepEqual(await step(source, ann, "two"), { ok: "You go on." });
  assert.deepEqual(await roomOf(engine), { room: 2 });
});

test("C4 keys are scoped to their viewer, also without a principal and in one room", async () => {
  await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
  const source = cast({ engine, kinds });
  const anonymous: Viewer = { scopes: [] };
  const start = async (): Promise<string> =>
    /h_[\w-]+/u.exec(JSON.stringify(await source.act(anonymous, "tools/start_walker", {}, {})))?.[0] ?? "";
  const [one, other] = [await start(), await start()];
  const wave = (handle: string) => source.act(anonymous, "tools/wave", { handle }, { key: "k" });
  await wave(one);
  await wave(other);
  await wave(one);
  assert.deepEqual((await engine.read("room/0"))?.state, { left: 1, called: "" }, "each waved once");
});

test("C4 one key on several ways to actors of one kind names a call on each", async () => {
  const lamp = actor("lamp", {
    description: "A lamp.",
    per: "link",
    autoStart: true,
    state: z.object({ pulls: z.int().default(0) }),
    tools: { pull: { description: "Pulls its cord.", run: ({ state }) => (state.pulls += 1) } },
  });
  const hall = actor("hall", {
    description: "A hall.",
    per: "link",
    autoStart: true,
    initial: ({ key }) => ({ lamp: key }),
    links: { lamp: { kind: lamp, to: ({ state }) => lamp.id(state.lamp) } },
  });
  const flat = actor("flat", {
    description: "A flat.",
    per: "user",
    state: z.object({}),
    links: {
      left: { kind: lamp, to: () => lamp.id("left") },
      right: { kind: lamp, to: () => lamp.id("right") },
      hall: { kind: hall, choices: () => ["east", "west"] },
    },
  });
  const all = [flat, hall, lamp];
  await using engine = await LocalEngine.start({ kinds: all, store: memoryStore() });
  const ways: readonly (readonly [OfferRef, JsonObject])[] = [
    ["tools/left__pull", {}],
    ["tools/right__pull", {}],
    ["tools/hall__lamp__pull", { hall: "east" }],
    ["tools/hall__lamp__pull", { hall: "west" }],
  ];
  for (const source of [cast({ engine, kinds: all }), cast({ engine, kinds: all })])
    for (const [ref, args] of ways) assert.deepEqual(await source.act(ann, ref, args, { key: "k" }), { ok: 1 });
  for (const key of ["left", "right", "east", "west"]) assert.deepEqual((await engine.read(lamp.id(key)))?.state, { pulls: 1 }, key);
});

test("C4 keys of callers without a principal are scoped to their peers", async () => {
  const chime = actor("chime", {
    description: "Rings.",
    per: "shared",
    state: z.object({ rung: z.int().default(0) }),
    tools: { ring: { description: "Rings it.", run: ({ state }) => (state.rung += 1) } },
  });
  await using engine = await LocalEngine.start({ kinds: [chime], store: memoryStore() });
  const source = cast({ engine, kinds: [chime] });
  const ring = (viewer: Viewer, peer?: string) => source.act(viewer, "tools/ring", {}, { key: "1", peer });
  const anonymous: Viewer = { scopes: [] };
  assert.deepEqual(await ring(anonymous, "192.0.2.1"), { ok: 1 });
  assert.deepEqual(await ring(anonymous, "192.0.2.2"), { ok: 2 });
  assert.deepEqual(await ring(anonymous, "192.0.2.1"), { ok: 1 }, "a retry");
  // Callers that cannot be distinguished have no key.
  assert.deepEqual([await ring(anonymous), await ring(anonymous)], [{ ok: 3 }, { ok: 4 }]);
  // A principal has its keys wherever it calls from.
  const ada: Viewer = { principal: "ada", scopes: [] };
  assert.deepEqual([await ring(ada, "192.0.2.1"), await ring(ada, "192.0.2.2")], [{ ok: 5 }, { ok: 5 }]);
});

test("a lone surrogate that a view fails on is refused with its path, and is not a fault", async () => {
  const echo = actor("echo", {
    description: "Says it again.",
    per: "shared",
    initial: () => ({}),
    tools: { say: { description: "Says it again.", input: z.object({ text: z.string() }), view: ({ args }) => args.text } },
  });
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({ kinds: [echo], store: memoryStore() });
  const source = cast({ engine, kinds: [echo], onFault: (error) => faults.push(error) });
  const say = async (text: string) => source.act(ann, "tools/say", { text }, {});
  assert.deepEqual(await say("☃"), { ok: "☃" });
  const reply = await say("\ud800");
  assert.deepEqual("refused" in reply && [reply.refused.code, reply.refused.message.slice(0, 38)], [
    "INVALID",
    "Invalid arguments: text: holds half a ",
  ]);
  assert.deepEqual(faults, []);
});

test("the sessions of a peer start a bounded number of actors, and can go on using those", async () => {
  const pad = actor("pad", {
    description: "Counts.",
    per: "user",
    state: z.object({ count: z.int().default(0) }),
    links: { hall: { kinds: ["hall"], to: () => "hall/main" } },
    tools: { add: { description: "Adds one.", run: ({ state }) => (state.count += 1) } },
  });
  const hall = actor("hall", {
    description: "Everybody's.",
    per: "link",
    autoStart: true,
    state: z.object({ count: z.int().default(0) }),
    tools: { visit: { description: "Counts visits.", run: ({ state }) => (state.count += 1) } },
  });
  const halls = [pad, hall];
  const clock = new SimulatedClock();
  await using engine = await LocalEngine.start({ kinds: halls, store: memoryStore(), clock });
  const serve = () => cast({ engine, kinds: halls, clock });
  const source = serve();
  const from = (peer: string, session: number, ref: OfferRef = "tools/add", of = source) =>
    of.act({ principal: `session|${session}`, scopes: [] }, ref, {}, { peer });
  const codeOf = (reply: Reply) => ("refused" in reply ? reply.refused.code : reply);
  let began = 0;
  let refusals = 0;
  for (let session = 0; refusals === 0 && session < 1_500; session += 1) {
    const reply = await from("192.0.2.1", session);
    if ("ok" in reply) began += 1;
    else refusals += 1;
  }
  assert.ok(began >= 900 && began <= 1_000, String(began));
  assert.equal(refusals, 1);
  assert.deepEqual(await from("192.0.2.1", 0), { ok: 2 }, "its actor exists");
  // Several calls at once start no more than one alone.
  const atOnce = await Promise.all([1, 2, 3].map(() => from("192.0.2.1", 5_000)));
  assert.deepEqual(atOnce.map(codeOf), ["START_LIMIT", "START_LIMIT", "START_LIMIT"]);
  assert.equal(codeOf(await from("192.0.2.1", 5_001, "tools/hall__visit")), "START_LIMIT", "by a link");
  assert.equal(await engine.read("pad/session%7C5001"), undefined);
  assert.deepEqual(await from("192.0.2.2", 5_002), { ok: 1 }, "another peer");
  // Another process finds the actors there, and counts none of them.
  const later = serve();
  for (let session = 0; session < began; session += 1) assert.ok("ok" in (await from("192.0.2.1", session, "tools/add", later)));
  assert.deepEqual(await from("192.0.2.1", 5_003, "tools/add", later), { ok: 1 });
});

test("errors of a linked actor do not contain its key, which may be another user's name", async () => {
  const diary = actor("diary", {
    description: "A diary.",
    per: "user",
    initial: () => ({}),
    tools: {
      tear: {
        description: "Fails.",
        run() {
          throw new Error("torn");
        },
      },
    },
  });
  const friend = actor("friend", {
    description: "Somebody's friend.",
    per: "user",
    initial: () => ({}),
    links: { a: { kinds: ["diary"], to: () => "diary/ann%40home" as const } },
  });
  await using engine = await LocalEngine.start({ kinds: [diary, friend], store: memoryStore() });
  const source = cast({ engine, kinds: [diary, friend] });
  const tear = (principal: string, ref: OfferRef): Promise<Reply> => source.act({ principal, scopes: [] }, ref, {}, {});
  await engine.call({
    to: "diary/ann%40home",
    action: "troupe/begin",
    args: null,
    viewer: { principal: "ann@home", scopes: [] },
    start: null,
  });
  await assert.rejects(tear("ann@home", "tools/tear"), { code: "CRASHED", message: /^diary\/ann%40home crashed/ });
  await assert.rejects(tear("bob", "tools/a__tear"), {
    code: "CRASHED",
    applied: false,
    message: /^The diary crashed at event \d+: your call/,
  });
});

const counter = actor("counter", {
  description: "Counts.",
  per: "user",
  state: z.object({ count: z.number().default(0) }),
  tools: {
    add: {
      description: "Adds one.",
      input: z.object({ by: z.number().optional() }),
      run({ state }) {
        state.count += 1;
        return state.count;
      },
    },
    read: { description: "Reads.", enabled: ({ state: { count } }) => count < 2, view: ({ state: { count } }) => count },
  },
});

const ana: Viewer = { principal: "ana", scopes: [] };

/** Answers calls synchronously. */
class Quick extends FakeEngine {
  readonly messages: Outgoing[] = [];
  fault: EngineError | undefined;

  callNow(message: Outgoing, options: CallOptions = {}): Reply {
    this.messages.push(message);
    if (this.fault !== undefined) throw this.fault;
    const seq = this.messages.length;
    this.put(message.to, { count: seq });
    options.onReceipt?.({ actor: message.to, seq, head: `1.${seq}` });
    return { ok: seq };
  }
}

const now = (source: Source, viewer = ana, ref: "tools/add" | "tools/read" | "tools/c__add" = "tools/add") =>
  source.actNow?.(viewer, ref, {}, {});

test("a call to a root is answered synchronously if its engine does, also through prefix and merge", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  assert.deepEqual(now(source), { ok: 1 });
  const inside = merge(registry({}), prefix("c", source));
  assert.deepEqual(now(inside, ana, "tools/c__add"), { ok: 2 });
  assert.deepEqual(engine.messages[0], {
    to: "counter/ana",
    action: "tools/add",
    args: {},
    viewer: { principal: "ana", self: "counter/ana", scopes: [] },
    start: null,
  });
});

test("empty arguments are one frozen object for all calls, others stay as they are", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  const some = { by: 2 };
  for (const args of [{}, {}, some, null, []]) source.actNow?.(ana, "tools/add", args, {});
  const messages = engine.messages.map(({ args }) => args);
  assert.equal(messages[0], messages[1]);
  assert.ok(Object.isFrozen(messages[0]));
  assert.equal(messages[2], some);
  assert.deepEqual(messages.slice(3), [null, []]);
});

test("reads, and calls of an engine without callNow, are asynchronous", async () => {
  const quick = cast({ engine: new Quick([counter]), kinds: [counter] });
  const viewed = now(quick, ana, "tools/read");
  assert.ok(viewed instanceof Promise);
  assert.deepEqual(await viewed, { ok: 0 });
  const slow = now(cast({ engine: new FakeEngine([counter]), kinds: [counter] }));
  assert.ok(slow instanceof Promise);
  assert.deepEqual(await slow, { ok: 1 });
});

test("`actNow` throws what `act` rejects with; another viewer's actor answers as unknown", async () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  engine.fault = new EngineError("DRAINING", "closing");
  assert.throws(() => now(source), { code: "DRAINING" });
  await assert.rejects(source.act(ana, "tools/add", {}, {}), { code: "DRAINING" });
  await assert.rejects(merge(registry({}), source).act(ana, "tools/add", {}, {}), { code: "DRAINING" });
  engine.fault = new EngineError("NO_ACTOR", "not yours");
  const reply = now(source);
  assert.ok(reply !== undefined && "refused" in reply && reply.refused.code === "UNKNOWN");
});

test("C8 the caller's subscribers are notified before a synchronous reply", async () => {
  const source = cast({ engine: new Quick([counter]), kinds: [counter] });
  const flags: string[] = [];
  const undo = source.watch(ana, (ref) => flags.push(ref ?? "lists"));
  await source.act(ana, "tools/add", {}, {});
  flags.length = 0;
  const second = now(source);
  assert.ok(second instanceof Promise);
  assert.deepEqual(await second, { ok: 2 });
  assert.deepEqual(flags, ["lists"]);
  assert.deepEqual(now(source, { principal: "bob", scopes: [] }), { ok: 3 }, "who listens to another waits for nothing");
  undo();
  assert.deepEqual(now(source), { ok: 4 });
});

test("viewers are compared by principal and scopes, not by object identity", () => {
  const engine = new Quick([counter]);
  const source = cast({ engine, kinds: [counter] });
  const scopes = ["a"];
  const mine = { principal: "ana", scopes };
  now(source, mine);
  scopes.push("b");
  now(source, mine);
  mine.principal = "bob";
  now(source, mine);
  now(source, { principal: "bob", scopes: [] });
  assert.deepEqual(
    engine.messages.map(({ to, viewer }) => [to, viewer?.principal, viewer?.scopes]),
    [
      ["counter/ana", "ana", ["a"]],
      ["counter/ana", "ana", ["a", "b"]],
      ["counter/bob", "bob", ["a", "b"]],
      ["counter/bob", "bob", []],
    ],
  );
});

// A turn that changes nothing leaves no event.
const run = ({ state }: { readonly state: { calls: number } }): number => (state.calls += 1);

const note = actor("note", {
  description: "A note.",
  per: "user",
  initial: () => ({ calls: 0 }),
  tools: {
    closed: { description: "Takes by.", input: z.object({ by: z.number().optional(), of: z.object({ a: z.number() }).optional() }), run },
    bare: { description: "Takes nothing.", run },
    loose: { description: "Takes anything besides by.", input: z.looseObject({ by: z.number() }), run },
    record: { description: "Takes anything.", input: z.record(z.string(), z.number()), run },
    union: { description: "Takes either.", input: z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]), run },
    plain: { description: "Takes by.", input: fromJsonSchema<JsonObject>({ type: "object", properties: { by: { type: "number" } } }), run },
  },
});
test("arguments that a tool's schema does not name are not stored in the chain", async () => {
  await using engine = await LocalEngine.start({ kinds: [note], store: memoryStore() });
  const source = cast({ engine, kinds: [note] });
  const junk: Json = { junk: "x".repeat(10_000), __proto__x: 1, constructor: 2 };
  const stored = async (tool: string, args: JsonObject): Promise<unknown> => {
    assert.ok("ok" in (await source.act(ann, `tools/${tool}`, args, {})), tool);
    let last: unknown;
    for await (const { body } of engine.history("note/ann", 0)) {
      const read: unknown = JSON.parse(body ?? "null");
      if (isJsonObject(read) && isJsonObject(read["message"])) last = read["message"]["args"];
    }
    return last;
  };
  assert.deepEqual(await stored("closed", { by: 1, ...junk }), { by: 1 });
  assert.deepEqual(await stored("closed", JSON.parse('{"__proto__":{"by":5},"toString":1}')), {});
  assert.deepEqual(await stored("closed", { by: 1, of: { a: 1 } }), { by: 1, of: { a: 1 } });
  assert.deepEqual(await stored("bare", junk), {});
  assert.deepEqual(await stored("plain", { by: 1, ...junk }), { by: 1 });
  // These take more than they name.
  assert.deepEqual(await stored("loose", { by: 1, more: 2 }), { by: 1, more: 2 });
  assert.deepEqual(await stored("record", { more: 2 }), { more: 2 });
  assert.deepEqual(await stored("union", { b: 2 }), { b: 2 });
});

test("a call whose linked actor was stopped while it worked is not reported as one that found no actor", async () => {
  const started = Promise.withResolvers<void>();
  const guide = actor("guide", {
    description: "Shows the mill.",
    per: "user",
    initial: () => ({}),
    links: { mill: { kinds: ["mill"], to: () => "mill/main" as const } },
  });
  const mill = actor("mill", {
    description: "Grinds.",
    per: "link",
    initial: () => ({}),
    tools: {
      grind: {
        description: "Grind.",
        work() {
          started.resolve();
          return new Promise<string>(() => undefined);
        },
      },
    },
  });
  await using engine = await LocalEngine.start({ kinds: [guide, mill], store: memoryStore() });
  await engine.call({ to: "mill/main", action: "troupe/begin", args: null, start: null });
  const source = cast({ engine, kinds: [guide, mill] });
  const grinding = Promise.resolve(source.act(ann, "tools/mill__grind", {}, {}));
  grinding.catch(() => undefined);
  await started.promise;
  await engine.stop("mill/main", "enough");
  await assert.rejects(grinding, { code: "ACTOR_STOPPED", message: /^The mill was stopped while it worked on the call/u });
});
