import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { WitValue } from "../wit.ts";
import { op } from "./runnable-module.fixture.ts";
import { CALL, guest, LIMITS, put, RESULT, run, SEND, send, state } from "./guest.fixture.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const nothing = op.i32(RESULT);
const RETURNED = 64;

/** Returns the result `result<_, string>` that an import wrote to `RETURNED`. */
const relayed = [0, 4, 8].flatMap((offset) => put(RESULT + offset, [...op.i32(RETURNED), ...op.load(offset)]));

/** Sends its message to `peer`, whose name is at address 1,000. */
const sending = [...op.i32(1000), ...op.i32(4), ...op.get(3), ...op.get(4), ...op.i32(RETURNED), ...op.call(0)];
const sender = guest({
  imports: ["message-server-host.send"],
  functions: [send([...sending, ...relayed, ...nothing])],
  module: { data: { 1000: utf8("peer") } },
});

suite("a call into a guest", () => {
  test("passes the state and the message, and returns the new state", async () => {
    const keeps = guest({ functions: [send(state(op.get(1), op.get(2)))] });
    const takes = guest({ functions: [send(state(op.get(3), op.get(4)))] });
    const params = [utf8("message")];
    assert.deepEqual(await run(keeps.make(), { state: utf8("before"), params }), {
      did: [],
      end: "ok",
      state: utf8("before"),
      back: undefined,
    });
    assert.deepEqual(await run(takes.make(), { state: utf8("before"), params }), {
      did: [],
      end: "ok",
      state: utf8("message"),
      back: undefined,
    });
  });

  test("returns the second result", async () => {
    const params = ["i32", "i32", "i32", "i32", "i32", "i32", "i32"] as const;
    const body = [...put(RESULT + 16, op.i32(1)), ...put(RESULT + 20, op.get(5)), ...put(RESULT + 24, op.get(6)), ...nothing];
    const echo = guest({
      functions: [{ name: "ask", params, results: ["i32"], body }],
      exports: { "message-server-client.handle-request": { core: "ask" } },
    });
    const asked = { export: "message-server-client.handle-request", params: ["id", utf8("what")] } as const;
    assert.deepEqual(await run(echo.make(), asked), { did: [], end: "ok", state: undefined, back: utf8("what") });
  });

  test("opens a channel without an id for a component of April 2025", async () => {
    const open = "message-server-client.handle-channel-open";
    const words = [...put(RESULT + 16, op.i32(1)), ...put(RESULT + 20, op.i32(1))];
    const body = [...words, ...put(RESULT + 24, op.get(3)), ...put(RESULT + 28, op.get(4)), ...nothing];
    const params = ["i32", "i32", "i32", "i32", "i32"] as const;
    const old = guest({ functions: [{ name: "open", params, results: ["i32"], body }], exports: { [open]: { core: "open", old: true } } });
    const outcome = await run(old.make(), { export: open, params: ["ch_1", utf8("hello")] });
    assert.deepEqual(outcome, { did: [], end: "ok", state: undefined, back: { accepted: true, message: utf8("hello") } });
  });

  test("that the guest refuses returns its message, and the instance can be used again", async () => {
    const says = [...put(RESULT, op.i32(1)), ...put(RESULT + 4, op.get(3)), ...put(RESULT + 8, op.get(4)), ...nothing];
    const instance = guest({ functions: [send(says)] }).make();
    for (const message of ["no", "never"])
      assert.deepEqual(await run(instance, { params: [utf8(message)] }), { did: [], end: "error", message });
    const limits = { ...LIMITS, resultBytes: 100_000 };
    const long = await run(instance, { params: [utf8("x".repeat(65_537))], limits });
    assert.equal(long.end === "error" && long.message, `${"x".repeat(65_536)}… [cut]`);
  });

  test("is followed by one post-return call with the result's address", async () => {
    const counter = 1024;
    const counted = [...op.i32(counter), ...op.i32(counter), ...op.load(0), ...op.get(0), ...op.add, ...op.store(0)];
    const cleans = guest({
      functions: [send(state(op.i32(counter), op.i32(4))), { name: "post", params: ["i32"], results: [], body: counted }],
      exports: { [SEND]: { core: "send", post: "post" } },
    });
    const instance = cleans.make();
    for (const sum of [0, RESULT, 2 * RESULT]) {
      const outcome = await run(instance);
      assert.deepEqual(outcome, { did: [], end: "ok", state: Uint8Array.of(sum, 0, 0, 0), back: undefined });
    }
  });

  test("runs one at a time, and not after a failure", async () => {
    const instance = sender.make();
    const first = run(instance, {}, () => new Promise(() => {}));
    await assert.rejects(run(instance), /in a call/);
    void first;
    const broken = guest({ functions: [send(op.unreachable)] }).make();
    assert.equal((await run(broken)).end, "trap");
    assert.equal(broken.broken, true);
    await assert.rejects(run(broken), /broken/);
  });
});

suite("a guest's imports", () => {
  test("that wait receive the arguments, and the guest continues with the answer", async () => {
    const instance = sender.make();
    assert.equal(instance.suspends, true);
    const asked: unknown[] = [];
    const wait = async (name: string, args: readonly WitValue[]): Promise<WitValue> => {
      asked.push([name, ...args]);
      await Promise.resolve();
      return asked.length === 1 ? { ok: undefined } : { err: "Nobody is called peer." };
    };
    const did = (result: WitValue) => [{ name: "message-server-host.send", args: ["peer", Uint8Array.of(1)], result }];
    const done = await run(instance, {}, wait);
    assert.deepEqual(done, { did: did({ ok: undefined }), end: "ok", state: undefined, back: undefined });
    const message = "Nobody is called peer.";
    assert.deepEqual(await run(instance, {}, wait), { did: did({ err: message }), end: "error", message });
    assert.deepEqual(
      asked,
      Array.from({ length: 2 }, () => ["message-server-host.send", "peer", Uint8Array.of(1)]),
    );
  });

  test("are recorded in order, including those answered in the worker", async () => {
    const both = guest({
      imports: ["message-server-host.send", "runtime.log", "timing.now"],
      functions: [
        send([
          ...op.i32(1000),
          ...op.i32(2),
          ...op.call(1),
          ...sending,
          ...op.call(2),
          ...op.drop,
          ...op.i32(1002),
          ...op.i32(2),
          ...op.call(1),
          ...nothing,
        ]),
      ],
      module: { data: { 1000: utf8("peer") } },
    });
    const { did } = await run(both.make(), {}, async () => ({ ok: undefined }));
    assert.deepEqual(did, [
      { name: "runtime.log", args: ["pe"], result: undefined },
      { name: "message-server-host.send", args: ["peer", Uint8Array.of(1)], result: { ok: undefined } },
      { name: "timing.now", args: [], result: BigInt(CALL.at) },
      { name: "runtime.log", args: ["er"], result: undefined },
    ]);
  });

  test("that fail in the host return an error, or trap without a result type", async () => {
    const failing = async (): Promise<never> => Promise.reject(new Error("The disk is full."));
    const told = await run(sender.make(), {}, failing);
    assert.deepEqual(told.did[0]?.result, { err: "The disk is full." });
    assert.deepEqual([told.end, told.end === "error" && told.message], ["error", "The disk is full."]);
    const chain = guest({ imports: ["runtime.get-chain"], functions: [send([...op.i32(RETURNED), ...op.call(0), ...nothing])] });
    const trapped = await run(chain.make(), {}, failing);
    assert.deepEqual(trapped, { did: [], end: "trap", message: "runtime.get-chain failed, and cannot tell the guest: The disk is full." });
  });

  test("whose answer has the wrong type trap with a message", async () => {
    const outcome = await run(sender.make(), {}, async () => "fine");
    assert.deepEqual([outcome.end, outcome.did.length], ["trap", 1]);
    assert.match(outcome.end === "trap" ? outcome.message : "", /The host gave something else where the guest's world has result/);
  });

  test("are not called if the pointer for the result is invalid", async () => {
    const crooked = guest({
      imports: ["message-server-host.send"],
      functions: [
        send([...op.i32(0), ...op.i32(0), ...op.i32(0), ...op.i32(0), ...op.get(3), ...op.i32(1), ...op.add, ...op.call(0), ...nothing]),
      ],
    });
    const outcome = await run(crooked.make());
    assert.deepEqual([outcome.end, outcome.did], ["trap", []]);
    assert.match(outcome.end === "trap" ? outcome.message : "", /pointer to place for a result, \d+, is not a multiple of 4/);
  });

  test("have log lines recorded up to 64 KiB, without splitting surrogate pairs", async () => {
    const logs = guest({ imports: ["runtime.log"], functions: [send([...op.get(3), ...op.get(4), ...op.call(0), ...nothing])] });
    const logged = async (line: string) => (await run(logs.make(), { params: [utf8(line)] })).did[0]?.args[0];
    assert.equal(await logged("x".repeat(65_536)), "x".repeat(65_536));
    assert.equal(await logged("x".repeat(65_537)), `${"x".repeat(65_536)}… [cut]`);
    assert.equal(await logged(`${"x".repeat(65_535)}😀`), `${"x".repeat(65_535)}… [cut]`);
  });
});

suite("a guest's limits", () => {
  const logs = [...op.get(3), ...op.get(4), ...op.call(0)];
  const forever = guest({ imports: ["runtime.log"], functions: [send([...op.forever(logs), ...op.unreachable])] });

  test("end a call that makes too many host calls, and record those it made", async () => {
    const outcome = await run(forever.make(), { limits: { ...LIMITS, hostCalls: 3 } });
    const did = Array.from({ length: 3 }, () => ({ name: "runtime.log", args: ["\u0001"], result: undefined }));
    const message = "The guest made more than 3 host calls in one call.";
    assert.deepEqual(outcome, { did, end: "killed", why: "host-calls", message });
  });

  test("end a call whose host calls pass too many bytes, in or out", async () => {
    const spoken = await run(forever.make(), { params: [new Uint8Array(400)], limits: { ...LIMITS, hostBytes: 1000 } });
    const message = "The guest's host calls passed more than 1000 bytes.";
    assert.deepEqual(spoken, { did: spoken.did, end: "killed", why: "bytes", message });
    assert.equal(spoken.did.length, 2);
    const told = await run(sender.make(), { limits: { ...LIMITS, hostBytes: 1000 } }, async () => ({ err: "x".repeat(1000) }));
    assert.deepEqual(told, { did: told.did, end: "killed", why: "bytes", message });
    assert.equal(told.did.length, 1);
  });

  test("end a call that returns too many bytes", async () => {
    const large = guest({ functions: [send(state(op.i32(0), op.get(4)))] });
    assert.equal((await run(large.make(), { params: [new Uint8Array(1000)] })).end, "ok");
    const message = "The guest returned more than 1000 bytes.";
    assert.deepEqual(await run(large.make(), { params: [new Uint8Array(1001)] }), { did: [], end: "killed", why: "bytes", message });
  });

  test("cannot be caught by the guest", async () => {
    const catches = [...op.caught(op.forever(logs)), ...op.caught(logs), ...nothing];
    for (const imports of [["runtime.log"], ["runtime.log", "message-server-host.send"]] as const) {
      const instance = guest({ imports, functions: [send(catches)] }).make();
      const outcome = await run(instance, { limits: { ...LIMITS, hostCalls: 2 } });
      assert.deepEqual([outcome.end, outcome.did.length, instance.broken], ["killed", 2, true]);
    }
  });
});
