import assert from "node:assert/strict";
import { test } from "node:test";
import type { TheaterEvent } from "../stage.ts";
import { CachedChain, callOutcome, inChainOrder } from "./chain-cache.ts";

const hashOf = (at: number): Uint8Array => Uint8Array.of(at, ...Array.from({ length: 19 }, () => 7));
const idOf = (at: number): string => Buffer.from(hashOf(at)).toString("hex");
const result = (state: string | null): unknown => ({
  Wasm: { WasmResult: { function_name: "f", result: [state === null ? null : [...Buffer.from(state)], []] } },
});
const failure = (message: string): unknown => ({ Wasm: { WasmError: { function_name: "f", message } } });

/** The event number `at` of a chain, from 1. */
const event = (at: number, data: unknown = {}, timestamp = 1_000_000): TheaterEvent => ({
  hash: hashOf(at),
  parentHash: at === 1 ? null : hashOf(at - 1),
  eventType: "wasm",
  data: Buffer.from(JSON.stringify(data)),
  timestamp,
  description: null,
});
const chainOf = (...data: readonly unknown[]): readonly TheaterEvent[] => data.map((one, index) => event(index + 1, one));
const typesOf = (chain: CachedChain): readonly string[] => chain.page({ limit: 1_000 }).map(({ type }) => type);

test("StateChanged marks a call after which the state differs", () => {
  const chain = new CachedChain("a", 100);
  chain.replace(chainOf({}, result(null), result("x"), result("x"), {}, result("y"), failure("why"), result("y"), result(null)), 1);
  assert.deepEqual(typesOf(chain), ["wasm", "wasm", "StateChanged", "wasm", "wasm", "StateChanged", "wasm", "wasm", "StateChanged"]);
});

test("events are sorted by their links, whatever their order and times", () => {
  const events = [event(3, {}, 1), event(1, {}, 9), event(4, {}, 0), event(2, {}, 5)];
  assert.deepEqual(
    inChainOrder(events).map(({ hash }) => hash[0]),
    [1, 2, 3, 4],
  );
  const chain = new CachedChain("a", 100);
  chain.replace(events, 777);
  const page = chain.page({ limit: 10 });
  assert.deepEqual(
    page.map(({ id, parent, children }) => [id, parent, children]),
    [1, 2, 3, 4].map((at) => [idOf(at), at === 1 ? null : idOf(at - 1), at === 4 ? [] : [idOf(at + 1)]]),
  );
  assert.deepEqual(
    page.map(({ at }) => at),
    [9, 5, 1, 777],
  );
  assert.equal(chain.createdAt, 9);
});

test("links that form a cycle end", () => {
  const round = { ...event(1), parentHash: hashOf(2) };
  assert.ok(inChainOrder([round, event(2), event(3)]).length <= 3);
  assert.ok(inChainOrder([event(2), { ...event(1), parentHash: hashOf(3) }, event(3)]).length <= 3);
});

test("a failed call halts the actor until one succeeds", () => {
  const chain = new CachedChain("a", 100);
  chain.replace(chainOf({}, result("x"), failure("it broke"), {}), 1);
  assert.deepEqual(chain.halted, { after: idOf(3), why: "it broke" });
  chain.append(event(5, result("x")), 1);
  assert.equal(chain.halted, undefined);
});

test("the newest events stay cached with their classification", () => {
  const chain = new CachedChain("a", 3);
  chain.replace(chainOf(result("x"), result("y"), result("y"), result("z"), failure("why")), 1);
  assert.deepEqual(typesOf(chain), ["wasm", "StateChanged", "wasm"]);
  assert.deepEqual(chain.halted, { after: idOf(5), why: "why" });
  assert.equal(chain.createdAt, undefined);
  for (let at = 6; at < 100; at += 1) chain.append(event(at, result("z")), 1);
  assert.ok(chain.page({ limit: 1_000 }).length < 6);
  assert.ok(chain.bytes < 6 * 200);
  assert.equal(chain.event(idOf(1)), undefined);
  assert.equal(chain.event(idOf(99))?.parent, idOf(98));
});

test("a chain's bytes are bounded, but its last event always stays", () => {
  const chain = new CachedChain("a", 100, 10_000);
  for (let at = 1; at < 100; at += 1) {
    chain.append(event(at, "x".repeat(998)), 1);
    assert.ok(chain.bytes <= 10_000);
  }
  const newest = chain.page({ limit: 100 });
  assert.ok(newest.length >= 7 && chain.bytes === newest.length * 1_000);
  assert.deepEqual([newest.at(-1)?.id, chain.first], [idOf(99), newest[0]?.id]);
  chain.append(event(100, "x".repeat(20_000)), 1);
  assert.deepEqual(
    chain.page({ limit: 100 }).map(({ id }) => id),
    [idOf(100)],
  );
  chain.append(event(101), 1);
  assert.equal(chain.last, idOf(101));
  chain.replace([event(1, "x".repeat(9_998)), event(2, "x".repeat(4_998)), event(3)], 1);
  assert.deepEqual(
    chain.page({ limit: 100 }).map(({ id }) => id),
    [idOf(2), idOf(3)],
  );
});

test("events classified without predecessors are classified again with them", () => {
  const chain = new CachedChain("a", 100);
  assert.equal(chain.append(event(3, result("y")), 1), true);
  assert.equal(chain.append(event(3, result("y")), 1), false);
  assert.deepEqual(typesOf(chain), ["wasm"]);
  chain.replace(chainOf({}, result("x"), result("y"), result("y")), 1);
  assert.deepEqual(typesOf(chain), ["wasm", "StateChanged", "StateChanged", "wasm"]);
  // A gap: the state before it is unknown.
  chain.append(event(6, result("w")), 1);
  assert.equal(typesOf(chain).at(-1), "wasm");
});

test("data of an unknown form has no outcome", () => {
  for (const data of [
    null,
    1,
    "x",
    [],
    { Wasm: null },
    { Wasm: { WasmResult: { result: 1 } } },
    { Wasm: { WasmResult: { result: ["x"] } } },
  ])
    assert.equal(callOutcome(event(1, data)), undefined);
  assert.equal(callOutcome({ ...event(1), data: Uint8Array.of(0xff, 0, 1) }), undefined);
  assert.equal(callOutcome({ ...event(1, result("x")), eventType: "theater-runtime" }), undefined);
});
