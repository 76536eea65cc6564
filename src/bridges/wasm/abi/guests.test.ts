import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { inspect } from "node:util";
import { capMemory } from "../binary/cap-memory.ts";
import { readComponent } from "../read-component.ts";
import type { WitValue } from "../wit.ts";
import { run } from "./guest.fixture.ts";
import { type CallOutcome, compile, Instance, type LocalCall, type Wait } from "./index.ts";

const PAGE = 65_536;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const REQUEST = "message-server-client.handle-request";

function made(path: string): Instance {
  const component = readComponent(readFileSync(new URL(`../../../../${path}`, import.meta.url)));
  return Instance.create(compile(capMemory(component.module, 64 * PAGE)), component);
}

const ask = (instance: Instance, text: string, wait?: Wait, call?: Partial<LocalCall>): Promise<CallOutcome> =>
  run(instance, { export: REQUEST, params: ["r", utf8(text)], ...call }, wait);

function replyOf(outcome: CallOutcome): string {
  assert.ok(outcome.end === "ok" && outcome.back instanceof Uint8Array, inspect(outcome));
  return new TextDecoder().decode(outcome.back);
}

suite("guests of a real tool chain", () => {
  test("count", async () => {
    const counter = made("examples/wasm/counter/counter.wasm");
    const first = await run(counter, { export: "actor.init", params: ["id"] });
    assert.ok(first.end === "ok");
    const next = await run(counter, { state: first.state, params: [utf8("add")] });
    assert.deepEqual(next, {
      did: [{ name: "runtime.log", args: ["count is 1"], result: undefined }],
      end: "ok",
      state: utf8('{"count":1}'),
      back: undefined,
    });
    assert.equal(replyOf(await ask(counter, "", undefined, { state: next.end === "ok" ? next.state : undefined })), "1");
    const message = 'A counter takes "add" or a whole number of at most 15 characters.';
    assert.deepEqual(await run(counter, { params: [utf8("what")] }), { did: [], end: "error", message });
  });

  test("pass what imports take and give, of all their types", async () => {
    const event = (type: string): WitValue => {
      const parent = type === "first" ? undefined : utf8("parent");
      return { hash: utf8("hash"), "parent-hash": parent, "event-type": type, data: utf8(`of ${type}`), timestamp: 2n ** 53n };
    };
    const linked = (parent: bigint | undefined): WitValue => ({ hash: 7n, event: { "event-type": "kind", parent, data: utf8("data") } });
    const printed = { success: { stdout: "out ", stderr: "err", "exit-code": -7 } };
    const request = { method: "GET", uri: "http://peer/é", headers: [["x-from", "guest"]], body: utf8("body") };
    const response = { status: 65_535, headers: [["name", "value"]], body: utf8("none") };
    const told: readonly (readonly [string, readonly WitValue[], WitValue, string])[] = [
      ["supervisor.spawn-with state a manifest", ["a manifest", utf8("state")], { ok: "c1" }, "ok c1"],
      ["supervisor.get-child-events c1", ["c1"], { ok: [event("first"), event("next")] }, "ok first of first\nnext of next"],
      ["runtime.get-chain", [], { events: [linked(undefined), linked(2n ** 64n - 1n)] }, "ok kind data\nkind data"],
      ["store.exists s h", ["s", { hash: "h" }], { ok: true }, "ok true"],
      ["store.get-by-label s l", ["s", "l"], { ok: { hash: "h" } }, "ok h"],
      ["store.list-all-content s", ["s"], { ok: [{ hash: "one" }, { hash: "two" }] }, "ok one\ntwo"],
      ["store.calculate-total-size s", ["s"], { ok: 2n ** 63n }, "ok 9223372036854775808"],
      ["timing.deadline 18446744073709551615", [2n ** 64n - 1n], { err: "Too late." }, "err Too late."],
      ["filesystem.execute-command d ls a b", ["d", "ls", ["a", "b"]], { ok: printed }, "ok -7 out err"],
      ["filesystem.execute-command d ls", ["d", "ls", [""]], { ok: { error: { message: "Refused." } } }, "err Refused."],
      ["http-client.send-http GET http://peer/é body", [request], { ok: response }, "ok 65535 none"],
    ];
    const asker = made("test/wasm/guests/asker/asker.wasm");
    const outsider = made("test/wasm/guests/outsider/outsider.wasm");
    for (const [line, args, result, reply] of told) {
      const instance = line.startsWith("filesystem") || line.startsWith("http") ? outsider : asker;
      const outcome = await ask(instance, line, async () => result);
      assert.equal(replyOf(outcome), reply);
      assert.deepEqual(outcome.did, [{ name: line.slice(0, line.search(/-with|(?<!-)\s|$/)), args, result }]);
    }
  });

  test("are told of a child's error", async () => {
    const asker = made("test/wasm/guests/asker/asker.wasm");
    const told = {
      export: "supervisor-handlers.handle-child-error",
      params: ["c1", { "error-type": "paused", data: utf8("why") }],
    } as const;
    const outcome = await run(asker, told);
    assert.deepEqual(outcome, { did: [], end: "ok", state: utf8("error c1 8 why"), back: undefined });
  });

  test("of April 2025 open channels without an id", async () => {
    const old = made("test/wasm/guests/old/old.wasm");
    const outcome = await run(old, { export: "message-server-client.handle-channel-open", params: ["ch_1", utf8("hello")] });
    assert.deepEqual(outcome, { did: [], end: "ok", state: undefined, back: { accepted: true, message: utf8("hello") } });
  });

  test("that are hostile end in a trap or a kill that says why, and the next one answers", async () => {
    const ends: Readonly<Record<string, readonly [string, RegExp]>> = {
      M: ["trap", /gave up/],
      r: ["trap", /^Stack overflow/],
      u: ["trap", /gave up/],
      o: ["trap", /outside its memory/],
      p: ["trap", /result, 28 bytes at 4294967280, does not lie inside/],
      a: ["trap", /pointer to result, \d+, is not a multiple of 4/],
      b: ["trap", /list, 64 bytes at 4294967280, does not lie inside/],
      n: ["trap", /list, 4294967295 bytes at 1024, does not lie inside/],
      d: ["trap", /case 7 of a type result/],
      D: ["trap", /case 7 of a type option/],
      e: ["trap", /is not UTF-8/],
      H: ["trap", /gave up|outside/],
      U: ["trap", /is not UTF-8/],
      G: ["killed", /more than 100 host calls/],
      P: ["trap", /string, 64 bytes at 4294967280, does not lie inside/],
      N: ["trap", /string, 4294967295 bytes at 1024, does not lie inside/],
      Y: ["trap", /gave up/],
      Z: ["trap", /called runtime\.log where none may be called/],
    };
    for (const [letter, [end, message]] of Object.entries(ends)) {
      const instance = made("test/wasm/guests/hostile/hostile.wasm");
      const outcome = await ask(instance, letter);
      assert.deepEqual([letter, outcome.end, instance.broken], [letter, end, true]);
      assert.match(outcome.end === "ok" ? "" : outcome.message, message, letter);
    }
    for (const [letter, message] of [
      ["A", /allocation/],
      ["V", /gave up/],
      ["W", /where none may be called/],
    ] as const) {
      const instance = made("test/wasm/guests/hostile/hostile.wasm");
      assert.equal((await ask(instance, letter)).end, "ok");
      const outcome = await run(instance, { params: [utf8("-")], state: new Uint8Array(9) });
      assert.match(outcome.end === "trap" ? outcome.message : outcome.end, message, letter);
    }
    assert.equal(replyOf(await ask(made("test/wasm/guests/hostile/hostile.wasm"), "?")), "still here");
  });
});
