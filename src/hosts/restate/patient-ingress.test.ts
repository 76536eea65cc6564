import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SimulatedClock, SimulatedEntropy, until } from "../../testing/index.ts";
import { fakeIngress, patiently } from "./fake-ingress.fixture.ts";
import { PatientIngress } from "./patient-ingress.ts";

const CALL = { object: "troupe-map", key: "all/0", handler: "put", input: { key: "a" } };
const PATIENCE_MS = 5_000;

const on = (ingress: string, patienceMs = PATIENCE_MS) => {
  const clock = new SimulatedClock();
  return { clock, steps: new PatientIngress({ ingress, clock, entropy: new SimulatedEntropy(), patienceMs }) };
};

const codeOf = (ended: PromiseSettledResult<unknown>): unknown => (ended.status === "rejected" ? ended.reason.code : "none");

describe("C4 what is asked of a map or an actor, patiently", () => {
  test("a write whose answer is lost is sent again under its key, another write under another; a read under none", async () => {
    await using server = await fakeIngress(({ nth, response, lose }) => {
      if (nth % 3 === 0) response.end(`{"value":${nth}}`);
      else if (nth % 3 === 1) lose();
      else response.writeHead(500).end();
    });
    const { clock, steps } = on(server.base);
    for (const [n, way] of (["write", "write", "read"] as const).entries())
      assert.deepEqual(await patiently(clock, steps[way](CALL)), { status: "fulfilled", value: 3 * (n + 1) });
    const keys = server.asked.map(({ key }) => key);
    assert.deepEqual(keys, [keys[0], keys[0], keys[0], keys[3], keys[3], keys[3], undefined, undefined, undefined]);
    assert.match(keys[0] ?? "", /^[0-9a-f]{32}$/);
    assert.match(keys[3] ?? "", /^[0-9a-f]{32}$/);
    assert.notEqual(keys[0], keys[3]);
    assert.equal(clock.pending, 0, "nothing is left to happen");
  });

  test("a fault is told as it is, and only what changed meanwhile is asked again", async () => {
    const answers = [
      { fault: { code: "STORE_CONFLICT", message: "Ask again." } },
      { fault: { code: "STORE_CONFLICT", message: "Ask again." } },
      { value: "there" },
      { fault: { code: "STORE_CORRUPT", message: "Broken." } },
      { something: "else" },
    ];
    await using server = await fakeIngress(({ nth, response }) => void response.end(JSON.stringify(answers[Math.min(nth, 5) - 1])));
    const { clock, steps } = on(server.base);
    assert.deepEqual(await patiently(clock, steps.read(CALL)), { status: "fulfilled", value: "there" });
    assert.equal(server.asked.length, 3);
    assert.equal(codeOf(await patiently(clock, steps.read(CALL))), "STORE_CORRUPT");
    assert.equal(server.asked.length, 4);
    // What answers so may be replaced meanwhile.
    const ended = await patiently(clock, steps.read(CALL));
    assert.equal(codeOf(ended), "OUTCOME_UNKNOWN");
    assert.match(ended.status === "rejected" ? ended.reason.message : "", /troupe-map answered something else/);
  });

  test("what is away, or changes with each attempt, is given up once patience is over, and is not sent after that", async () => {
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
      const steps = new PatientIngress({ ingress: server.base, clock, patienceMs: PATIENCE_MS });
      assert.equal(codeOf(await patiently(clock, steps.read(CALL))), code);
      assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550, 2_550, 3_550, 4_550]);
      await clock.advance(10 * PATIENCE_MS);
      assert.equal(server.asked.length, 9);
    }
  });

  test("what hangs is left when patience is over, whichever attempt it is, and is not sent again", async () => {
    for (const hangs of [1, 3]) {
      await using server = await fakeIngress(({ nth, lose }) => {
        if (nth < hangs) lose();
      });
      const { clock, steps } = on(server.base);
      const ended = patiently(clock, steps.write(CALL));
      await until("it hangs", () => server.asked.length === hangs);
      await clock.advance(PATIENCE_MS - 1_000);
      assert.equal(clock.pending, 1, "it waits");
      await clock.advance(1_000);
      const { status, reason } = Object(await ended);
      assert.deepEqual(
        { status, code: reason.code, applied: reason.applied },
        { status: "rejected", code: "OUTCOME_UNKNOWN", applied: "unknown" },
      );
      assert.match(reason.message, /troupe-map did not answer in time/);
      await clock.advance(10 * PATIENCE_MS);
      assert.equal(server.asked.length, hangs);
    }
  });

  test("patience that ends with a pause sends nothing more", async () => {
    await using server = await fakeIngress(({ lose }) => lose());
    const { clock, steps } = on(server.base, 150);
    assert.equal(codeOf(await patiently(clock, steps.read(CALL))), "OUTCOME_UNKNOWN");
    assert.equal(server.asked.length, 2);
  });

  test("patience is five minutes at most", async () => {
    await using server = await fakeIngress();
    const { clock, steps } = on(server.base, 3_600_000);
    const ended = patiently(clock, steps.read(CALL));
    await until("it hangs", () => server.asked.length === 1);
    await clock.advance(299_999);
    assert.equal(clock.pending, 1);
    await clock.advance(1);
    assert.equal(codeOf(await ended), "OUTCOME_UNKNOWN");
  });

  test("a handler that a server does not know yet is waited for, and for two seconds at most", async () => {
    const clock = new SimulatedClock();
    const start = clock.now();
    const times: number[] = [];
    await using unregistered = await fakeIngress(({ response }) => {
      times.push(clock.now() - start);
      response.writeHead(404).end();
    });
    const steps = new PatientIngress({ ingress: unregistered.base, clock, patienceMs: PATIENCE_MS });
    assert.equal(codeOf(await patiently(clock, steps.write(CALL))), "ENGINE_MISSING");
    assert.deepEqual(times, [0, 50, 150, 350, 750, 1_550]);
    await using server = await fakeIngress(({ nth, response }) => {
      if (nth < 3) response.writeHead(404).end();
      else response.end('{"value":1}');
    });
    const registered = on(server.base);
    assert.deepEqual(await patiently(registered.clock, registered.steps.read(CALL)), { status: "fulfilled", value: 1 });
    assert.equal(registered.clock.pending, 0);
  });

  for (const [status, code] of [
    [409, "CANCELLED"],
    [400, "NOT_APPLIED"],
  ] as const)
    test(`what is refused with ${status} is ${code}, and is sent once`, async () => {
      await using server = await fakeIngress(({ response }) => void response.writeHead(status).end());
      const { clock, steps } = on(server.base);
      assert.equal(codeOf(await patiently(clock, steps.write(CALL))), code);
      assert.equal(codeOf(await patiently(clock, steps.read(CALL))), code);
      assert.equal(server.asked.length, 2);
      assert.equal(clock.pending, 0);
    });
});
