import assert from "node:assert/strict";
import { test } from "node:test";
import { refuse } from "../../core/actor/index.ts";
import type { CallOptions } from "../../core/contract/index.ts";
import { settle, SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { createServer } from "./index.ts";

const viewer = { principal: "ana", scopes: ["a"] };

test("a handler knows its caller, and progress and emitted data share one counter", async () => {
  await using server = createServer("s", "1", { entropy: new SimulatedEntropy() });
  let id = "";
  server.tools.register({ name: "t" }, ({ viewer: who, requestId, progress, emit }) => {
    id = requestId;
    emit("one");
    progress(5, 10, "half");
    emit({ n: 2 });
    progress(3);
    progress(Number.NaN);
    emit(null);
    return { who };
  });
  const steps: unknown[] = [];
  const options: CallOptions = { onProgress: (done, total, message) => steps.push([done, total, message]) };
  assert.deepEqual(await server.source.act(viewer, "tools/t", {}, options), { ok: { who: viewer } });
  assert.match(id, /^[0-9a-f-]{36}$/);
  assert.deepEqual(steps, [
    [1, undefined, "one"],
    [5, 10, "half"],
    [6, undefined, '{"n":2}'],
    [3, undefined, undefined],
    [Number.NaN, undefined, undefined],
    [7, undefined, "null"],
  ]);
  assert.deepEqual(await server.source.act(viewer, "tools/t", {}, {}), { ok: { who: viewer } });
});

test("emit sends undefined as null", async () => {
  await using server = createServer("s", "1");
  server.tools.register({ name: "t" }, ({ emit }) => Reflect.apply(emit, undefined, []));
  const steps: unknown[] = [];
  await server.source.act(viewer, "tools/t", {}, { onProgress: (...step) => steps.push(step) });
  assert.deepEqual(steps, [[1, undefined, "null", null]]);
});

test("a handler's log lines reach the client, and the server's log with run id and offer", async () => {
  const lines: unknown[] = [];
  await using server = createServer("s", "1", { log: (...line) => lines.push(line) });
  const ids: string[] = [];
  server.tools.register({ name: "t" }, ({ log, requestId }) => {
    ids.push(requestId);
    log("info", { step: 1 });
    log("warning", "two", "mine");
  });
  const clientLines: unknown[] = [];
  for (const _ of [1, 2]) await server.source.act(viewer, "tools/t", {}, { onLog: (...line) => clientLines.push(line) });
  assert.equal(new Set(ids).size, 2);
  assert.deepEqual(clientLines.slice(0, 2), [
    ["info", { step: 1 }, undefined],
    ["warning", "two", "mine"],
  ]);
  assert.deepEqual(lines.slice(0, 2), [
    ["info", { event: "handler", offer: "tools/t", requestId: ids[0], data: { step: 1 } }],
    ["warning", { event: "handler", offer: "tools/t", requestId: ids[0], data: "two", logger: "mine" }],
  ]);
});

test("emit refuses what is not JSON, as a result is refused", async () => {
  const errors: unknown[] = [];
  await using server = createServer("s", "1", { onError: (error) => errors.push(error) });
  server.tools.register({ name: "t" }, ({ emit }) => Reflect.apply(emit, undefined, [given]));
  let given: unknown;
  for (given of [() => 1, Symbol("x"), 1n, { n: 1n }]) {
    const steps: unknown[] = [];
    await assert.rejects(async () => server.source.act(viewer, "tools/t", {}, { onProgress: (...step) => steps.push(step) }));
    assert.deepEqual(steps, []);
    assert.match(String(errors.pop()), /^EngineError: What tools\/t emits is not JSON: /);
  }
});

test("a log line with what JSON cannot hold is written as text, and fails no handler", async () => {
  const lines: unknown[] = [];
  await using server = createServer("s", "1", { log: (_level, line) => lines.push(line) });
  const circle: unknown[] = [1];
  circle.push(circle);
  const given = [{ n: 1n }, circle, Symbol("x"), undefined, { toJSON: () => assert.fail() }];
  server.tools.register({ name: "t" }, ({ log }) => {
    for (const data of given) Reflect.apply(log, undefined, ["info", data]);
    return "done";
  });
  const clientLines: unknown[] = [];
  const onLog: CallOptions["onLog"] = (_level, data) => clientLines.push(data);
  assert.deepEqual(await server.source.act(viewer, "tools/t", {}, { onLog }), { ok: "done" });
  assert.deepEqual(clientLines, [{ n: "1" }, [1, "(see above)"], "Symbol(x)", null, "(cannot be read)"]);
  assert.deepEqual(
    lines.map((line) => Object(line).data),
    clientLines,
  );
});

test("a handler is aborted when its caller disconnects, and at its time limit", async () => {
  const clock = new SimulatedClock();
  await using server = createServer("s", "1", { clock, handlerMs: 1_000 });
  const aborted: boolean[] = [];
  server.tools.register({ name: "t" }, ({ signal }) => {
    signal.addEventListener("abort", () => aborted.push(true));
    return new Promise(() => undefined);
  });
  const disconnected = new AbortController();
  const left = server.source.act(viewer, "tools/t", {}, { signal: disconnected.signal });
  const timedOut = server.source.act(viewer, "tools/t", {}, {});
  const both = [assert.rejects(left, { code: "CANCELLED" }), assert.rejects(timedOut, { code: "WORK_TIMEOUT" })];
  await clock.advance(500);
  disconnected.abort();
  await clock.advance(500);
  await Promise.all(both);
  assert.deepEqual(aborted, [true, true]);
});

test("a handler's error is reported to onError and the log, refusals and aborted runs are not #server.around", async () => {
  const lines: unknown[] = [];
  const heard: unknown[] = [];
  await using server = createServer("s", "1", {
    log: (...line) => lines.push(line),
    onError(error, { offer, requestId, viewer: who }) {
      heard.push([error instanceof Error ? error.message : error, offer, requestId === ids[0], who]);
      throw new TypeError("of the author's own");
    },
  });
  const ids: string[] = [];
  server.resources.register({ name: "broken", uri: "x://broken" }, ({ requestId }) => {
    ids.push(requestId);
    throw new RangeError("secret");
  });
  server.tools.register({ name: "refuses" }, () => refuse("No."));
  server.tools.register({ name: "asks" }, ({ ask }) => ask({ sure: { method: "elicitation/create", params: {} } }));
  server.prompts.register({ name: "left" }, ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", reject)));
  await assert.rejects(server.source.act(viewer, "resources/broken", {}, {}), {
    code: "CRASHED",
    message: /^resources\/broken failed inside the server, with arguments that fit(?!.*secret)(?!.*refuse\()/,
  });
  assert.ok("refused" in (await server.source.act(viewer, "tools/refuses", {}, {})));
  assert.ok("needs" in (await server.source.act(viewer, "tools/asks", {}, {})));
  const disconnected = new AbortController();
  const left = assert.rejects(server.source.act(viewer, "prompts/left", {}, { signal: disconnected.signal }), { code: "CANCELLED" });
  await settle();
  disconnected.abort();
  await left;
  assert.deepEqual(heard, [["secret", "resources/broken", true, viewer]]);
  assert.deepEqual(lines, [
    [
      "error",
      {
        event: "handler-failed",
        offer: "resources/broken",
        requestId: ids[0],
        name: "RangeError",
        text: 'Throw refuse("…") for what its caller should read.',
      },
    ],
    ["error", { event: "on-error-failed", offer: "resources/broken", requestId: ids[0], name: "TypeError" }],
  ]);
});

test("a timeout is reported to log and onError, and so is a later error that is not the abort", async () => {
  const clock = new SimulatedClock();
  const lines: unknown[] = [];
  const heard: unknown[] = [];
  await using server = createServer("s", "1", {
    clock,
    handlerMs: 1_000,
    log: (level, data) => lines.push([level, data]),
    onError: (error, { offer, requestId, viewer: who }) => heard.push([Object(error).code ?? String(error), offer, requestId, who]),
  });
  let id = "";
  const after = (name: string, how: (signal: AbortSignal) => Promise<unknown>): void =>
    void server.tools.register({ name }, ({ signal, requestId }) => {
      id = requestId;
      return how(signal);
    });
  const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", resolve));
  after("hangs", () => new Promise(() => undefined));
  after("lost", async () => {
    await wait(1_500);
    throw new RangeError("db lost");
  });
  after("heeds", async (signal) => {
    await aborted(signal);
    signal.throwIfAborted();
  });
  after("wraps", async (signal) => {
    await aborted(signal);
    throw new Error("aborted", { cause: signal.reason });
  });
  for (const name of ["hangs", "lost", "heeds", "wraps"] as const) {
    const call = assert.rejects(server.source.act(viewer, `tools/${name}`, {}, {}), { code: "WORK_TIMEOUT" });
    await settle();
    await clock.advance(1_000);
    await call;
    const text = `tools/${name} took longer than 1 s and was stopped; what it did until then may stay. Check that first, then call again, with less to do at once if you can.`;
    assert.deepEqual(lines.shift(), [
      "error",
      { event: "handler-timeout", offer: `tools/${name}`, requestId: id, code: "WORK_TIMEOUT", text },
    ]);
    assert.deepEqual(heard.shift(), ["WORK_TIMEOUT", `tools/${name}`, id, viewer]);
    await clock.advance(1_000);
    if (name === "lost") {
      assert.match(JSON.stringify(lines.shift()), /handler-failed.+tools\/lost.+RangeError(?!.*db lost)/);
      assert.deepEqual(heard.shift(), ["RangeError: db lost", "tools/lost", id, viewer]);
    }
    assert.deepEqual([lines, heard], [[], []], name);
  }
});

test("a handler's error after its caller disconnected is not reported", async () => {
  const clock = new SimulatedClock();
  const reported: unknown[] = [];
  await using server = createServer("s", "1", {
    clock,
    handlerMs: 1_000,
    log: (...line) => reported.push(line),
    onError: (error) => reported.push(error),
  });
  server.tools.register({ name: "t" }, async () => {
    await new Promise<void>((resolve) => clock.after(1_500, resolve));
    throw new RangeError("delayed");
  });
  const disconnected = new AbortController();
  const left = assert.rejects(server.source.act(viewer, "tools/t", {}, { signal: disconnected.signal }), { code: "CANCELLED" });
  await settle();
  disconnected.abort();
  await left;
  await clock.advance(2_000);
  assert.deepEqual(reported, []);
});

test("a handler that hangs ends before official clients give up, with a sentence for the model", async () => {
  const clock = new SimulatedClock();
  await using server = createServer("s", "1", { clock });
  server.tools.register({ name: "hangs" }, () => new Promise(() => undefined));
  let ended: unknown;
  const call = server.source.act(viewer, "tools/hangs", {}, {}).catch((error: unknown) => (ended = error));
  await settle();
  await clock.advance(54_999);
  assert.equal(ended, undefined);
  await clock.advance(1);
  await call;
  assert.match(String(ended), /tools\/hangs took longer than 55 s and was stopped; .*Check that first, then call again/);
});

test("without `log` and `onError`, a handler's error is written to standard error in full", async (t) => {
  const written = t.mock.method(console, "error", () => undefined);
  await using server = createServer("s", "1");
  const boom = new Error("boom");
  server.tools.register({ name: "t" }, () => {
    throw boom;
  });
  await assert.rejects(async () => await server.source.act(viewer, "tools/t", {}, {}));
  assert.ok(written.mock.calls.some(({ arguments: [error] }) => error === boom));
  await using quiet = createServer("s", "1", { log: () => undefined });
  quiet.tools.register({ name: "t" }, () => {
    throw boom;
  });
  const before = written.mock.callCount();
  await assert.rejects(async () => await quiet.source.act(viewer, "tools/t", {}, {}));
  assert.equal(written.mock.callCount(), before);
});
