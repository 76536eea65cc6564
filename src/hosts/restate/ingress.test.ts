import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock, until } from "../../testing/index.ts";
import { fakeIngress, patiently } from "./fake-ingress.fixture.ts";
import { Ingress, MOST_PATIENCE_MS } from "./ingress.ts";

const CALL = { object: "actor-tally", key: "main", handler: "turn", input: { n: 1 }, idempotencyKey: "once" };
const ATTEMPT_MS = 15_000;
const PATIENCE_MS = 5_000;
/** 50, 100, … up to a second: so many attempts begin before patience is over. */
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
      server.asked,
      Array.from({ length: 5 }, () => ({ path: "/actor-tally/main/turn", key: "once", input: { n: 1 } })),
    );
    assert.equal(clock.pending, 0, "nothing is left to happen");
    assert.equal(server.probes, 0);
  });

  test("that is begun is sent again too, and named by its invocation; any other answer says nothing", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth === 1) return lose();
      response.writeHead(202).end(nth === 2 ? '{"invocationId":"inv_1"}' : "{}");
    });
    const { clock, ingress } = on(server.base);
    assert.deepEqual(await patiently(clock, ingress.begin(CALL)), { status: "fulfilled", value: "inv_1" });
    await assert.rejects(ingress.begin(CALL), { code: "OUTCOME_UNKNOWN" });
    assert.deepEqual(
      server.asked.map(({ path, key }) => `${path} ${key}`),
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
    assert.equal(server.asked.length, ATTEMPTS);
  });

  test("is never sent for longer than the server is told to remember its key", async () => {
    const clock = new SimulatedClock();
    const start = clock.now();
    await using server = await fakeIngress(({ lose }) => lose());
    await patiently(clock, new Ingress({ base: server.base, clock, patienceMs: 10 * MOST_PATIENCE_MS }).invoke(CALL));
    const tookMs = clock.now() - start;
    assert.ok(tookMs <= MOST_PATIENCE_MS && tookMs > MOST_PATIENCE_MS - 2_000, `${tookMs} ms`);
  });

  test("that hangs at a server that is up is asked anew under its key, however long it takes", async () => {
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth === 8) response.end('"done"');
    });
    const { clock, ingress } = on(server.base);
    const answer = ingress.invoke(CALL);
    for (let n = 1; n < 8; n += 1) {
      await until("it is asked again", () => server.asked.length === n);
      assert.equal(server.probes, n - 1);
      await clock.advance(ATTEMPT_MS - 1);
      assert.equal(server.probes, n - 1, "it has time");
      await clock.advance(1);
    }
    assert.equal(await answer, "done");
    assert.ok(server.asked.every(({ key }) => key === "once"));
    assert.equal(server.probes, 7);
    assert.equal(clock.pending, 0);
  });

  test("that hangs at a server that is not up is OUTCOME_UNKNOWN in the end; patience begins anew where it has been up", async () => {
    await using server = await fakeIngress(({ nth, lose }) => {
      // What hangs at last would otherwise count from the first that was lost.
      if (nth !== 3 && nth !== 5) lose();
    });
    const { clock, ingress } = on(server.base);
    const ended = patiently(clock, ingress.invoke(CALL));
    await until("it hangs", () => server.asked.length === 3);
    await clock.advance(ATTEMPT_MS);
    await until("it hangs again", () => server.asked.length === 5);
    assert.equal(server.probes, 1);
    server.up = false;
    await clock.advance(ATTEMPT_MS);
    const { status } = await ended;
    assert.equal(status, "rejected");
    assert.equal(server.probes, 2);
    // The 4th was the first that was lost after it had been up: 15 s later, patience is over.
    assert.equal(server.asked.length, 5);
  });

  test("that a server does not know yet is sent again until it does, and for two seconds at most", async () => {
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
    // That it is away later is waited for as long as ever.
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
      assert.equal(server.asked.length, 2);
      assert.equal(clock.pending, 0);
    });
});
