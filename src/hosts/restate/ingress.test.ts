import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { until, SimulatedClock, SimulatedEntropy } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { fakeIngress, patiently } from "./fake-ingress.fixture.ts";
import { sendTo, type Invocation, Ingress, MAX_PATIENCE_MS, GuardedIngress } from "./ingress.ts";

const REQUEST: Invocation = { object: "actor-tally", key: "a b/ü", handler: "turn", input: { text: "☃" }, idempotencyKey: "once" };
const MAX_ANSWER_BYTES = 64 * 1_048_576;
const UNKNOWN = { name: "EngineError", code: "OUTCOME_UNKNOWN", applied: "unknown" };

describe("one request to an ingress", () => {
  test("has the handler's address, the key and the input, and the mode", async () => {
    await using server = await fakeIngress(({ response }) => void response.end('{"text":"☃"}'));
    const send = sendTo(server.base);
    assert.deepEqual(await send(REQUEST).answer, { text: "☃" });
    await send(REQUEST, "begin").answer;
    await send({ object: "control", handler: "cancel", input: null }).answer;
    assert.deepEqual(server.requests, [
      { path: "/actor-tally/a%20b%2F%C3%BC/turn", key: "once", input: REQUEST.input },
      { path: "/actor-tally/a%20b%2F%C3%BC/turn/send", key: "once", input: REQUEST.input },
      { path: "/control/cancel", key: undefined, input: null },
    ]);
  });

  test("goes below the path of the ingress, which a proxy may need", async () => {
    await using server = await fakeIngress(({ response }) => void response.end("1"));
    for (const end of ["", "/"]) await sendTo(`${server.base}/restate${end}`)(REQUEST).answer;
    const path = "/restate/actor-tally/a%20b%2F%C3%BC/turn";
    assert.deepEqual(
      server.requests.map((request) => request.path),
      [path, path],
    );
  });

  test("an answer may arrive in chunks, cut within a character; an empty one is undefined; invalid JSON is unknown", async () => {
    await using server = await fakeIngress(async ({ nth, response }) => {
      if (nth === 2) response.end();
      else if (nth === 3) response.end("no JSON");
      else if (nth === 4) response.writeHead(202).end('"taken"');
      else {
        for (const byte of Buffer.from('"☃"')) {
          response.write(Buffer.of(byte));
          await turn();
        }
        response.end();
      }
    });
    const send = sendTo(server.base);
    assert.equal(await send(REQUEST).answer, "☃");
    assert.equal(await send(REQUEST).answer, undefined);
    await assert.rejects(send(REQUEST).answer, UNKNOWN);
    assert.equal(await send(REQUEST).answer, "taken");
  });

  for (const [status, code, applied] of [
    [409, "CANCELLED", false],
    [404, "ENGINE_MISSING", false],
    [400, "NOT_APPLIED", false],
    [422, "NOT_APPLIED", false],
    [408, "OUTCOME_UNKNOWN", "unknown"],
    [429, "OUTCOME_UNKNOWN", "unknown"],
    [500, "OUTCOME_UNKNOWN", "unknown"],
    [503, "OUTCOME_UNKNOWN", "unknown"],
  ] as const)
    test(`${status} is ${code}`, async () => {
      await using server = await fakeIngress(({ response }) => void response.writeHead(status).end(`it says why ${"x".repeat(1_000)}`));
      await assert.rejects(sendTo(server.base)(REQUEST).answer, (error) => {
        const { message } = Object(error);
        assert.deepEqual({ code: Object(error).code, applied: Object(error).applied }, { code, applied });
        assert.ok(message.length < 800 && (status === 409 || message.includes("it says why")), message);
        return true;
      });
    });

  test("a connection that is lost, before its answer or within it, leaves the outcome unknown", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth === 1) return lose();
      response.writeHead(200, { "content-length": "100" });
      response.write("true", lose);
    });
    const send = sendTo(server.base);
    for (let n = 0; n < 2; n += 1) await assert.rejects(send(REQUEST).answer, UNKNOWN);
  });

  test("an abandoned request rejects at once with an unknown outcome, also within an answer", async () => {
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth === 2) response.writeHead(200, { "content-length": "100" }).write("true");
    });
    const send = sendTo(server.base);
    for (let n = 1; n <= 2; n += 1) {
      const { answer, abandon } = send(REQUEST);
      await until("it gets a request", () => server.requests.length === n);
      abandon();
      await assert.rejects(answer, UNKNOWN);
      abandon();
    }
  });

  test("an answer longer than the bound is not read to its end", async () => {
    let written = 0;
    const piece = Buffer.alloc(1_048_576, "x");
    await using server = await fakeIngress(async ({ response }) => {
      response.write('"');
      for (; written <= MAX_ANSWER_BYTES && !response.destroyed; written += piece.length)
        await new Promise<void>((resolve) => response.write(piece, () => resolve()));
      response.end('"');
    });
    await assert.rejects(sendTo(server.base)(REQUEST).answer, (error) => {
      assert.match(String(Object(error).cause), /longer than 67108864 bytes/);
      assert.equal(Object(error).code, "OUTCOME_UNKNOWN");
      return true;
    });
  });

  test("https is used if the address has it", async () => {
    const first = Promise.withResolvers<number | undefined>();
    await using server = await onLoopback(
      createServer((socket) =>
        socket.once("data", (bytes: Buffer) => {
          first.resolve(bytes[0]);
          socket.destroy();
        }),
      ),
    );
    await assert.rejects(sendTo(`https://127.0.0.1:${server.port}`)(REQUEST).answer, UNKNOWN);
    // A TLS handshake, and nothing of the call.
    assert.equal(await first.promise, 0x16);
  });
});

const CALL = { object: "actor-tally", key: "main", handler: "turn", input: { n: 1 }, idempotencyKey: "once" };
const ATTEMPT_MS = 15_000;
const PATIENCE_MS = 5_000;
/** 50, 100, … up to a second: this many attempts start before patience is over. */
const ATTEMPTS = 9;

const on = (base: string, patienceMs = PATIENCE_MS) => {
  const clock = new SimulatedClock();
  return { clock, ingress: new Ingress({ base, clock, patienceMs }) };
};

describe("C4 a call through the ingress", () => {
  test("whose answers are lost is sent again under its key until one arrives", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth <= 3) return lose();
      if (nth === 4) return void response.writeHead(503).end();
      response.end('{"reply":{"ok":1}}');
    });
    const { clock, ingress } = on(server.base);
    assert.deepEqual(await patiently(clock, ingress.invoke(CALL)), { status: "fulfilled", value: { reply: { ok: 1 } } });
    assert.deepEqual(
      server.requests,
      Array.from({ length: 5 }, () => ({ path: "/actor-tally/main/turn", key: "once", input: { n: 1 } })),
    );
    assert.equal(clock.pending, 0, "nothing is left to happen");
    assert.equal(server.probes, 0);
  });

  test("that is begun is sent again too, and returns its invocation; any other answer is unknown", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth === 1) return lose();
      response.writeHead(202).end(nth === 2 ? '{"invocationId":"inv_1"}' : "{}");
    });
    const { clock, ingress } = on(server.base);
    assert.deepEqual(await patiently(clock, ingress.begin(CALL)), { status: "fulfilled", value: "inv_1" });
    await assert.rejects(ingress.begin(CALL), { code: "OUTCOME_UNKNOWN" });
    assert.deepEqual(
      server.requests.map(({ path, key }) => `${path} ${key}`),
      Array.from({ length: 3 }, () => "/actor-tally/main/turn/send once"),
    );
  });

  test("to a server that is away is OUTCOME_UNKNOWN once patience is over, and is not sent after that", async () => {
    const clock = new SimulatedClock();
    const start = clock.now();
    const times: number[] = [];
    await using server = await fakeIngress(({ lose }) => {
      times.push(clock.now() - start);
      lose();
    });
    const ingress = new Ingress({ base: server.base, clock, patienceMs: PATIENCE_MS });
    await assert.rejects(
      async () => {
        const ended = await patiently(clock, ingress.invoke(CALL));
        if (ended.status === "rejected") throw ended.reason;
      },
      { code: "OUTCOME_UNKNOWN", applied: "unknown" },
    );
    assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550, 2_550, 3_550, 4_550]);
    assert.equal(times.length, ATTEMPTS);
    await clock.advance(10 * PATIENCE_MS);
    assert.equal(server.requests.length, ATTEMPTS);
  });

  test("is never retried for longer than the server remembers its key", async () => {
    const clock = new SimulatedClock();
    const start = clock.now();
    await using server = await fakeIngress(({ lose }) => lose());
    await patiently(clock, new Ingress({ base: server.base, clock, patienceMs: 10 * MAX_PATIENCE_MS }).invoke(CALL));
    const tookMs = clock.now() - start;
    assert.ok(tookMs <= MAX_PATIENCE_MS && tookMs > MAX_PATIENCE_MS - 2_000, `${tookMs} ms`);
  });

  test("that hangs at a server that is up is sent again under its key, however long it takes", async () => {
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth === 8) response.end('"done"');
    });
    const { clock, ingress } = on(server.base);
    const answer = ingress.invoke(CALL);
    for (let n = 1; n < 8; n += 1) {
      await until("it gets another request", () => server.requests.length === n);
      assert.equal(server.probes, n - 1);
      await clock.advance(ATTEMPT_MS - 1);
      assert.equal(server.probes, n - 1, "it has time");
      await clock.advance(1);
    }
    assert.equal(await answer, "done");
    assert.ok(server.requests.every(({ key }) => key === "once"));
    assert.equal(server.probes, 7);
    assert.equal(clock.pending, 0);
  });

  test("that hangs at a server that is not up ends as OUTCOME_UNKNOWN; patience restarts when it has been up", async () => {
    await using server = await fakeIngress(({ nth, lose }) => {
      // Otherwise the last attempts would count from the first one that was lost.
      if (nth !== 3 && nth !== 5) lose();
    });
    const { clock, ingress } = on(server.base);
    const ended = patiently(clock, ingress.invoke(CALL));
    await until("it hangs", () => server.requests.length === 3);
    await clock.advance(ATTEMPT_MS);
    await until("it hangs again", () => server.requests.length === 5);
    assert.equal(server.probes, 1);
    server.up = false;
    await clock.advance(ATTEMPT_MS);
    const { status } = await ended;
    assert.equal(status, "rejected");
    assert.equal(server.probes, 2);
    // The 4th was the first that was lost after it had been up: 15 s later, patience is over.
    assert.equal(server.requests.length, 5);
  });

  test("that a server does not know yet is retried until it does, and for two seconds at most", async () => {
    for (const way of ["invoke", "begin"] as const) {
      const clock = new SimulatedClock();
      const start = clock.now();
      const times: number[] = [];
      await using server = await fakeIngress(({ response }) => {
        times.push(clock.now() - start);
        response.writeHead(404).end();
      });
      const ingress = new Ingress({ base: server.base, clock, patienceMs: PATIENCE_MS });
      const ended = await patiently<unknown>(clock, ingress[way](CALL));
      assert.equal(ended.status === "rejected" && ended.reason.code, "ENGINE_MISSING");
      assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550]);
      assert.equal(clock.pending, 0);
    }
    // A server that is away afterwards is waited for as usual.
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth < 3) response.writeHead(404).end();
      else if (nth < ATTEMPTS) lose();
      else response.end('"done"');
    });
    const { clock, ingress } = on(server.base);
    assert.deepEqual(await patiently(clock, ingress.invoke(CALL)), { status: "fulfilled", value: "done" });
  });

  for (const [status, code] of [
    [409, "CANCELLED"],
    [400, "NOT_APPLIED"],
  ] as const)
    test(`that is refused with ${status} is ${code}, and is sent once`, async () => {
      await using server = await fakeIngress(({ response }) => void response.writeHead(status).end());
      const { clock, ingress } = on(server.base);
      for (const way of ["invoke", "begin"] as const) {
        const ended = await patiently<unknown>(clock, ingress[way](CALL));
        assert.equal(ended.status === "rejected" && ended.reason.code, code);
      }
      assert.equal(server.requests.length, 2);
      assert.equal(clock.pending, 0);
    });
});

const MAP_CALL = { object: "troupe-map", key: "all/0", handler: "put", input: { key: "a" } };
const RETRY_MS = 5_000;

const retryingOn = (ingress: string, patienceMs = RETRY_MS) => {
  const clock = new SimulatedClock();
  return { clock, steps: new GuardedIngress({ ingress, clock, entropy: new SimulatedEntropy(), patienceMs }) };
};

const codeOf = (ended: PromiseSettledResult<unknown>): unknown => (ended.status === "rejected" ? ended.reason.code : "none");

describe("C4 a call of a map or an actor, with retries", () => {
  test("a write whose answer is lost is sent again under its key, another write under another; a read under none", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth % 3 === 0) response.end(`{"value":${nth}}`);
      else if (nth % 3 === 1) lose();
      else response.writeHead(500).end();
    });
    const { clock, steps } = retryingOn(server.base);
    for (const [n, way] of (["write", "write", "read"] as const).entries())
      assert.deepEqual(await patiently(clock, steps[way](MAP_CALL)), { status: "fulfilled", value: 3 * (n + 1) });
    const keys = server.requests.map(({ key }) => key);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0], keys[3], keys[3], keys[3], undefined, undefined, undefined]);
    assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/);
    assert.match(keys[3] ?? "", /^[0-9a-f]{32}$/);
    assert.notEqual(keys[0], keys[3]);
    assert.equal(clock.pending, 0, "nothing is left to happen");
  });

  test("a fault is returned as it is, and only conflicts are retried", async () => {
    const answers = [
      { fault: { code: "STORE_CONFLICT", message: "Ask again." } },
      { fault: { code: "STORE_CONFLICT", message: "Ask again." } },
      { value: "there" },
      { fault: { code: "STORE_CORRUPT", message: "Broken." } },
      { something: "else" },
    ];
    await using server = await fakeIngress(({ nth, response }) => void response.end(JSON.stringify(answers[Math.min(nth, 5) - 1])));
    const { clock, steps } = retryingOn(server.base);
    assert.deepEqual(await patiently(clock, steps.read(MAP_CALL)), { status: "fulfilled", value: "there" });
    assert.equal(server.requests.length, 3);
    assert.equal(codeOf(await patiently(clock, steps.read(MAP_CALL))), "STORE_CORRUPT");
    assert.equal(server.requests.length, 4);
    // The object that answers so may be replaced meanwhile.
    const ended = await patiently(clock, steps.read(MAP_CALL));
    assert.equal(codeOf(ended), "OUTCOME_UNKNOWN");
    assert.match(ended.status === "rejected" ? ended.reason.message : "", /troupe-map answered something else/);
  });

  test("a server that is away, or conflicts, are given up once patience is over, and nothing is sent after that", async () => {
    for (const [what, code] of [
      ["away", "OUTCOME_UNKNOWN"],
      ["changing", "STORE_CONFLICT"],
    ]) {
      const clock = new SimulatedClock();
      const start = clock.now();
      const times: number[] = [];
      await using server = await fakeIngress(({ response, lose }) => {
        times.push(clock.now() - start);
        if (what === "away") lose();
        else response.end('{"fault":{"code":"STORE_CONFLICT","message":"Ask again."}}');
      });
      const steps = new GuardedIngress({ ingress: server.base, clock, patienceMs: RETRY_MS });
      assert.equal(codeOf(await patiently(clock, steps.read(MAP_CALL))), code);
      assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550, 2_550, 3_550, 4_550]);
      await clock.advance(10 * RETRY_MS);
      assert.equal(server.requests.length, 9);
    }
  });

  test("a call that hangs is abandoned when patience is over, whichever attempt it is, and is not sent again", async () => {
    for (const hangs of [1, 3]) {
      await using server = await fakeIngress(({ nth, lose }) => {
        if (nth < hangs) lose();
      });
      const { clock, steps } = retryingOn(server.base);
      const ended = patiently(clock, steps.write(MAP_CALL));
      await until("it hangs", () => server.requests.length === hangs);
      await clock.advance(RETRY_MS - 1_000);
      assert.equal(clock.pending, 1, "it waits");
      await clock.advance(1_000);
      const { status, reason } = Object(await ended);
      assert.deepEqual(
        { status, code: reason.code, applied: reason.applied },
        { status: "rejected", code: "OUTCOME_UNKNOWN", applied: "unknown" },
      );
      assert.match(reason.message, /troupe-map did not answer in time/);
      await clock.advance(10 * RETRY_MS);
      assert.equal(server.requests.length, hangs);
    }
  });

  test("patience that ends with a pause sends nothing more", async () => {
    await using server = await fakeIngress(({ lose }) => lose());
    const { clock, steps } = retryingOn(server.base, 150);
    assert.equal(codeOf(await patiently(clock, steps.read(MAP_CALL))), "OUTCOME_UNKNOWN");
    assert.equal(server.requests.length, 2);
  });

  test("patience is five minutes at most", async () => {
    await using server = await fakeIngress();
    const { clock, steps } = retryingOn(server.base, 3_600_000);
    const ended = patiently(clock, steps.read(MAP_CALL));
    await until("it hangs", () => server.requests.length === 1);
    await clock.advance(299_999);
    assert.equal(clock.pending, 1);
    await clock.advance(1);
    assert.equal(codeOf(await ended), "OUTCOME_UNKNOWN");
  });

  test("a handler that a server does not know yet is retried, for two seconds at most", async () => {
    const clock = new SimulatedClock();
    const start = clock.now();
    const times: number[] = [];
    await using unregistered = await fakeIngress(({ response }) => {
      times.push(clock.now() - start);
      response.writeHead(404).end();
    });
    const steps = new GuardedIngress({ ingress: unregistered.base, clock, patienceMs: RETRY_MS });
    assert.equal(codeOf(await patiently(clock, steps.write(MAP_CALL))), "ENGINE_MISSING");
    assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550]);
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth < 3) response.writeHead(404).end();
      else response.end('{"value":1}');
    });
    const registered = retryingOn(server.base);
    assert.deepEqual(await patiently(registered.clock, registered.steps.read(MAP_CALL)), { status: "fulfilled", value: 1 });
    assert.equal(registered.clock.pending, 0);
  });

  for (const [status, code] of [
    [409, "CANCELLED"],
    [400, "NOT_APPLIED"],
  ] as const)
    test(`a call that is refused with ${status} is ${code}, and is sent once`, async () => {
      await using server = await fakeIngress(({ response }) => void response.writeHead(status).end());
      const { clock, steps } = retryingOn(server.base);
      assert.equal(codeOf(await patiently(clock, steps.write(MAP_CALL))), code);
      assert.equal(codeOf(await patiently(clock, steps.read(MAP_CALL))), code);
      assert.equal(server.requests.length, 2);
      assert.equal(clock.pending, 0);
    });
});
