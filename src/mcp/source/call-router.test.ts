import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalEngine } from "../../core/engine/index.ts";
import { memoryStore } from "../../core/store/index.ts";
import { actor } from "../../core/actor/index.ts";
import type { OfferRef, Receipt, Reply, Source, Viewer } from "../../core/contract/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { cast } from "./index.ts";
import * as z from "zod";

/** A walker is in a room; each step leads on to the next one, and is told only when the walker has arrived. */
const walker = actor("walker", {
  describe: "Walks.",
  per: "user",
  initial: () => ({ room: 0 }),
  links: { "": { kinds: ["room"], to: ({ room }) => `room/${room}` as const } },
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
  describe: "A room.",
  per: "link",
  begins: true,
  initial: () => ({ left: 0, called: "" }),
  tools: {
    step: {
      describe: "Go on.",
      run({ state, viewer, send, message, later }) {
        state.left += 1;
        state.called = message.id;
        if (viewer.self !== undefined) send(viewer.self, "arrive", {}, { replyAs: "gone" });
        return later();
      },
    },
    wave: {
      describe: "Wave.",
      run({ state }) {
        state.left += 0.5;
        return "You wave.";
      },
    },
  },
  messages: {
    gone: {
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

test("C4 a retry finds the first call where the link led then, though its act has changed the link: in this process and in the next", async () => {
  const store = memoryStore();
  {
    await using engine = await LocalEngine.start({ kinds, store });
    const source = cast({ engine, kinds });
    const receipts: Receipt[] = [];
    assert.deepEqual(await step(source, ann, "one", (receipt) => receipts.push(receipt)), { ok: "You go on." });
    assert.deepEqual(
      receipts.map(({ actor: id, seq }) => [id, seq]),
      [["room/0", 2]],
      "a late reply has the receipt of the turn that gave it",
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

test("C4 a key is one viewer's own, also of viewers without a principal who are in one room", async () => {
  await using engine = await LocalEngine.start({ kinds, store: memoryStore() });
  const source = cast({ engine, kinds });
  const nobody: Viewer = { scopes: [] };
  const start = async (): Promise<string> =>
    /h_[\w-]+/u.exec(JSON.stringify(await source.act(nobody, "tools/start_walker", {}, {})))?.[0] ?? "";
  const [one, other] = [await start(), await start()];
  const wave = (handle: string) => source.act(nobody, "tools/wave", { handle }, { key: "k" });
  await wave(one);
  await wave(other);
  await wave(one);
  assert.deepEqual((await engine.read("room/0"))?.state, { left: 1, called: "" }, "each waved once");
});

test("C4 callers without a principal share no keys: their peers tell them apart", async () => {
  const bell = actor("bell", {
    describe: "Rings.",
    per: "shared",
    state: z.object({ rung: z.int().default(0) }),
    tools: { ring: { describe: "Rings it.", run: ({ state }) => (state.rung += 1) } },
  });
  await using engine = await LocalEngine.start({ kinds: [bell], store: memoryStore() });
  const source = cast({ engine, kinds: [bell] });
  const ring = (viewer: Viewer, peer?: string) => source.act(viewer, "tools/ring", {}, { key: "1", peer });
  const nobody: Viewer = { scopes: [] };
  assert.deepEqual(await ring(nobody, "192.0.2.1"), { ok: 1 });
  assert.deepEqual(await ring(nobody, "192.0.2.2"), { ok: 2 });
  assert.deepEqual(await ring(nobody, "192.0.2.1"), { ok: 1 }, "a retry");
  // Who cannot be told apart has no key.
  assert.deepEqual([await ring(nobody), await ring(nobody)], [{ ok: 3 }, { ok: 4 }]);
  // A principal has its keys wherever it calls from.
  const ada: Viewer = { principal: "ada", scopes: [] };
  assert.deepEqual([await ring(ada, "192.0.2.1"), await ring(ada, "192.0.2.2")], [{ ok: 5 }, { ok: 5 }]);
});

test("half a character on which a view fails is refused by its path, and is no fault", async () => {
  const echo = actor("echo", {
    describe: "Says it again.",
    per: "shared",
    initial: () => ({}),
    tools: { say: { describe: "Says it again.", input: z.object({ text: z.string() }), view: (_, { args }) => args.text } },
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

test("a peer's sessions start a bounded number of actors, and go on using those they have", async () => {
  const pad = actor("pad", {
    describe: "Counts.",
    per: "user",
    state: z.object({ count: z.int().default(0) }),
    links: { hall: { kinds: ["hall"], to: () => "hall/main" } },
    tools: { add: { describe: "Adds one.", run: ({ state }) => (state.count += 1) } },
  });
  const hall = actor("hall", {
    describe: "Everybody's.",
    per: "link",
    begins: true,
    state: z.object({ count: z.int().default(0) }),
    tools: { visit: { describe: "Counts visits.", run: ({ state }) => (state.count += 1) } },
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
  assert.equal(codeOf(await from("192.0.2.1", 5_001, "tools/hall.visit")), "START_LIMIT", "by a link");
  assert.equal(await engine.read("pad/session%7C5001"), undefined);
  assert.deepEqual(await from("192.0.2.2", 5_002), { ok: 1 }, "another peer");
  // Another process finds the actors there, and counts none of them.
  const later = serve();
  for (let session = 0; session < began; session += 1) assert.ok("ok" in (await from("192.0.2.1", session, "tools/add", later)));
  assert.deepEqual(await from("192.0.2.1", 5_003, "tools/add", later), { ok: 1 });
});

test("what fails in an actor that a link leads to is told without its key, which may be another user's name", async () => {
  const diary = actor("diary", {
    describe: "A diary.",
    per: "user",
    initial: () => ({}),
    tools: {
      tear: {
        describe: "Fails.",
        run() {
          throw new Error("torn");
        },
      },
    },
  });
  const friend = actor("friend", {
    describe: "Somebody's friend.",
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
  await assert.rejects(tear("bob", "tools/a.tear"), {
    code: "CRASHED",
    applied: false,
    message: /^The diary crashed at event \d+: your call/,
  });
});
