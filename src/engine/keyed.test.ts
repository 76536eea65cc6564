import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_POLICY, type Behaviour, type Viewer } from "../contract/index.ts";
import { memoryStore } from "../store/index.ts";
import { FaultyStore, settle } from "../testing/index.ts";
import { LocalEngine } from "./index.ts";

interface Desk {
  readonly asked: readonly string[];
}

/** Answers later, when it is told to. */
const desk: Behaviour<Desk> = {
  kind: "desk",
  version: 1,
  policy: DEFAULT_POLICY,
  initial: () => ({ asked: [] }),
  receive(state, message) {
    if (message.action === "ask") return { state: { asked: [...state.asked, message.id] }, reply: "later" };
    const [first = ""] = state.asked;
    return { state: { asked: state.asked.slice(1) }, answer: { [first]: { ok: "here you are" } } };
  },
};

const ann: Viewer = { principal: "ann", scopes: [] };
const ask = { to: "desk/main", action: "ask", args: null, start: null, viewer: ann } as const;

test("C4 a retry that comes while the answer is on its way to the disk gets that answer, and is not applied again", async () => {
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
  assert.deepEqual((await engine.read("desk/main"))?.state, { asked: [] });
  await engine[Symbol.asyncDispose]();
});

test("C4 an answer on its way that is dropped is due again, and the retry waits for the next", async () => {
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

test("who took a keyed call is found by kind, viewer and key, also after a restart; nobody else's key finds it", async () => {
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
  assert.deepEqual(receipts, [2], "a late reply proves the turn that gave it");
  await using engine = await LocalEngine.start({ kinds: [desk], store });
  assert.equal(await engine.keyed("desk", ann, "k"), "desk/main");
  assert.equal(await engine.keyed("door", ann, "k"), undefined);
  assert.equal(await engine.keyed("desk", { principal: "bob", scopes: [] }, "k"), undefined);
  assert.equal(await engine.keyed("desk", { self: "player/x", scopes: [] }, "k"), undefined);
});
