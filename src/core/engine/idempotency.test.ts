import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor } from "../actor/index.ts";
import { DEFAULT_POLICY, type Behaviour, type Json, type Message, type Viewer } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, settle } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { LocalEngine } from "./index.ts";

interface Desk {
  readonly requests: readonly string[];
}

/** Answers when the test wants it to. */
const desk: Behaviour<Desk> = {
  kind: "desk",
  version: 1,
  policy: DEFAULT_POLICY,
  initial: () => ({ requests: [] }),
  receive(state, message) {
    if (message.action === "ask") return { state: { requests: [...state.requests, message.id] }, reply: "later" };
    const [first = ""] = state.requests;
    return { state: { requests: state.requests.slice(1) }, answer: { [first]: { ok: "here you are" } } };
  },
};

const ann: Viewer = { principal: "ann", scopes: [] };
const ask = { to: "desk/main", action: "ask", args: null, start: null, viewer: ann } as const;

test("C4 a retry during the commit of the reply gets that reply, and is not applied again", async () => {
  const store = memoryStore();
  const first = new FaultyStore(store, () => "pass");
  const before = await LocalEngine.start({ kinds: [desk], store: first });
  void before.call(ask, { key: "k" }).catch(() => undefined);
  await settle();
  first.crash();

  const engine = await LocalEngine.start({
    kinds: [desk],
    store: new FaultyStore(store, (place) => (place === "before commit" ? "delay" : "pass")),
  });
  await engine.read("desk/main");
  const answered = engine.call({ to: "desk/main", action: "answer", args: null });
  assert.deepEqual(await engine.call(ask, { key: "k" }), { ok: "here you are" });
  await answered;
  assert.deepEqual((await engine.read("desk/main"))?.state, { requests: [] });
  await engine[Symbol.asyncDispose]();
});

test("C4 if the commit of a deferred reply is dropped, a retry waits for the next reply", async () => {
  const store = memoryStore();
  let failing = false;
  const faulty = new FaultyStore(store, (place) => (failing && place === "before commit" ? "fail" : "pass"));
  const engine = await LocalEngine.start({ kinds: [desk], store: faulty });
  const waiting = engine.call(ask, { key: "k" });
  await settle();
  failing = true;
  const lost = engine.call({ to: "desk/main", action: "answer", args: null });
  const again = engine.call(ask, { key: "k" });
  await assert.rejects(lost, { code: "STORE_IO" });
  failing = false;
  await engine.call({ to: "desk/main", action: "answer", args: null });
  assert.deepEqual(await Promise.all([waiting, again]), [{ ok: "here you are" }, { ok: "here you are" }]);
  await engine[Symbol.asyncDispose]();
});

test("the actor that took a keyed call is found by kind, viewer and key, also after a restart", async () => {
  const store = memoryStore();
  const receipts: number[] = [];
  {
    await using engine = await LocalEngine.start({ kinds: [desk], store });
    const call = engine.call(ask, { key: "k", onReceipt: ({ seq }) => void receipts.push(seq) });
    await settle();
    assert.equal(await engine.keyed("desk", ann, "k"), "desk/main", "while the answer is due");
    await engine.call({ to: "desk/main", action: "answer", args: null });
    await call;
  }
  assert.deepEqual(receipts, [2], "a deferred reply proves the turn that gave it");
  await using engine = await LocalEngine.start({ kinds: [desk], store });
  assert.equal(await engine.keyed("desk", ann, "k"), "desk/main");
  assert.equal(await engine.keyed("door", ann, "k"), undefined);
  assert.equal(await engine.keyed("desk", { principal: "bob", scopes: [] }, "k"), undefined);
  assert.equal(await engine.keyed("desk", { self: "player/x", scopes: [] }, "k"), undefined);
});

/** Its work calls the desk's neighbour, then fails as often as configured. */
function buyer(failures: { left: number }, what: (message: Message) => Json): Behaviour<null> {
  return {
    kind: "buyer",
    version: 1,
    policy: DEFAULT_POLICY,
    initial: () => null,
    receive: (_, message) => async (context) => {
      const amount = what(message);
      await context.call({ to: "tally/bank", action: "add", args: { by: amount }, start: null });
      const reply = await context.call({ to: "tally/bank", action: "add", args: { by: amount }, start: null });
      if ((failures.left -= 1) >= 0) throw new Error("no");
      return { state: null, reply };
    },
  };
}
const buy = { to: "buyer/main", action: "buy", args: null, start: null, viewer: ann } as const;

for (const restarted of [false, true])
  test(`C4 work that a repeated keyed call runs again makes the same calls and gets the same replies${restarted ? ", after a restart too" : ""} #engine.c4`, async () => {
    const store = memoryStore();
    const kinds = [tallyKind("tally"), buyer({ left: 2 }, () => 3)];
    let engine = await LocalEngine.start({ kinds, store });
    for (let times = 0; times < 2; times += 1) {
      await assert.rejects(engine.call(buy, { key: "k" }), { code: "CRASHED" });
      if (!restarted) continue;
      await engine[Symbol.asyncDispose]();
      engine = await LocalEngine.start({ kinds, store });
    }
    assert.deepEqual(await engine.call(buy, { key: "k" }), { ok: 6 });
    assert.equal((await engine.read("tally/bank"))?.seq, 2);
    assert.deepEqual(await engine.call(buy, { key: "other" }), { ok: 12 });
    await engine[Symbol.asyncDispose]();
  });

test("C4 work that makes another call when it runs again gets the reply to that", async () => {
  let amount = 1;
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally"), buyer({ left: 1 }, () => amount)], store: memoryStore() });
  await assert.rejects(engine.call(buy, { key: "k" }), { code: "CRASHED" });
  amount = 10;
  assert.deepEqual(await engine.call(buy, { key: "k" }), { ok: 22 });
});

test("C4 secret arguments are not stored with a keyed call, not even as a hash", async () => {
  const store = memoryStore();
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store });
  const note = (text: string, secret: string) => ({ to: "tally/a", action: "note", args: { text, secret }, start: null }) as const;
  await engine.call(note("a", "1234"), { key: "k" });
  await engine.call(note("a", "5678"), { key: "k" });
  assert.equal((await engine.read("tally/a"))?.seq, 1);
  await assert.rejects(engine.call(note("b", "1234"), { key: "k" }), { code: "KEY_REUSED" });
});

test("C4 a keyed call that is being looked up when the engine closes is refused, and does not wait for ever", async () => {
  const store = memoryStore();
  {
    await using before = await LocalEngine.start({ kinds: [desk], store });
    void before.call(ask, { key: "deferred" }).catch(() => undefined);
    await settle();
  }
  for (const key of ["deferred", "new"]) {
    // Each look-up of a key ends only after the engine has closed.
    const slow = new Proxy(store, {
      get(of, name) {
        const member: unknown = Reflect.get(of, name);
        if (typeof member !== "function") return member;
        return async (...given: readonly unknown[]) => {
          if (name === "load" || name === "remembered") await settle();
          return Reflect.apply(member, of, given);
        };
      },
    });
    const engine = await LocalEngine.start({ kinds: [desk], store: slow });
    const called = assert.rejects(engine.call(ask, { key }), { code: "DRAINING" });
    await engine.drain(0);
    await called;
  }
});

test("C4 a call that stops its actor in memory gets its first reply again, and starts no other life", async () => {
  const kind = tallyKind("tally", { persistence: "memory" });
  let inMemory = (): number => 0;
  const engine = await LocalEngine.start({
    kinds: [kind],
    observer: {
      shows(show) {
        inMemory = () => show().actors ?? 0;
        return () => undefined;
      },
    },
  });
  const stop = { to: "tally/main", action: "stop", args: { reason: "done" }, start: null } as const;
  await engine.call({ to: "tally/main", action: "add", args: null, start: null });
  for (let times = 0; times < 2; times += 1) assert.deepEqual(await engine.call(stop, { key: "k" }), { ok: "stopped" });
  await assert.rejects(engine.call({ ...stop, args: { reason: "another" } }, { key: "k" }), { code: "KEY_REUSED" });
  assert.equal(inMemory(), 0, "nor a cell for it");
  assert.deepEqual(await engine.call({ ...stop, action: "add", args: null }), { ok: 1 });
  await engine[Symbol.asyncDispose]();
});

test("C4 a keyed call of a view reads again, and leaves no event", async () => {
  const door = actor("door", {
    description: "A door.",
    state: z.object({ n: z.number().default(0) }),
    tools: {
      knock: { description: "Knock.", run: ({ state }) => (state.n += 1) },
      look: { description: "Look.", view: ({ state }) => state.n },
    },
  });
  const engine = await LocalEngine.start({ kinds: [door], store: memoryStore() });
  const call = (tool: string, key: string) => engine.call({ to: door.id("main"), action: `tools/${tool}`, args: {} }, { key });
  for (const n of [1, 2]) {
    assert.deepEqual(await call("knock", `knock ${n}`), { ok: n });
    assert.deepEqual(await call("look", "look"), { ok: n });
  }
  assert.equal((await engine.read(door.id("main")))?.seq, 2);
  await engine[Symbol.asyncDispose]();
});
