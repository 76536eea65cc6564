import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { EngineError } from "../../core/contract/index.ts";
import { SimulatedClock, until } from "../../testing/index.ts";
import { onLoopback } from "../../../test/on-loopback.ts";
import { ServerHealth } from "./server-health.ts";

const ANSWERS = { up: 200, hidden: 404, nothingBehind: 502 } as const;

/** A server that answers probes as it is set to, and how often it was probed. */
const probed = async () => {
  const seen: { probes: number; status: number | undefined } = { probes: 0, status: ANSWERS.up };
  const loopback = await onLoopback(
    createServer((request, response) => {
      seen.probes += 1;
      if (seen.status === undefined) request.socket.destroy();
      else response.writeHead(seen.status).end();
    }),
  );
  return Object.assign(seen, { base: loopback.url, [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose]() });
};

const watched = (server: { readonly base: string; readonly probes: number }) => {
  const clock = new SimulatedClock();
  const changes: (string | undefined)[] = [];
  const health = new ServerHealth({ base: server.base, clock, onChange: (fault) => changes.push(fault?.code) });
  /** One more probe, to its end. */
  const probe = async (): Promise<void> => {
    const before = server.probes;
    for (let ms = 0; ms < 2_000 && server.probes === before; ms += 500) {
      await clock.advance(500);
      await until("the next probe is scheduled", () => clock.pending === 1);
    }
  };
  return { clock, changes, health, probe };
};

const faultOf = ({ fault }: ServerHealth): string | undefined => fault?.code;

const unanswered = () => Promise.reject(new EngineError("OUTCOME_UNKNOWN", "There was no answer.", { applied: "unknown" }));

test("a server is lost after two missed probes and back after one that is answered", async () => {
  await using server = await probed();
  const { clock, changes, health, probe } = watched(server);
  health.start();
  await until("the first probe is answered", () => clock.pending === 1);
  for (const [status, fault] of [
    [ANSWERS.hidden, undefined],
    [ANSWERS.nothingBehind, undefined],
    [ANSWERS.up, undefined],
    [undefined, undefined],
    [undefined, "UNAVAILABLE"],
    [ANSWERS.nothingBehind, "UNAVAILABLE"],
    [ANSWERS.up, undefined],
  ] as const) {
    server.status = status;
    await probe();
    assert.equal(faultOf(health), fault, `after ${status}`);
  }
  assert.deepEqual(changes, ["UNAVAILABLE", undefined]);
  assert.equal(server.probes, 8);
  health.close();
  await clock.advance(60_000);
  assert.equal(server.probes, 8);
});

test("an answered call proves that the server is there, whatever becomes of probes", async () => {
  await using server = await probed();
  server.status = undefined;
  const { clock, changes, health, probe } = watched(server);
  health.start();
  await until("the first probe is missed", () => clock.pending === 1);
  health.answered();
  await probe();
  assert.equal(faultOf(health), undefined);
  await probe();
  assert.equal(faultOf(health), "UNAVAILABLE");
  health.answered();
  assert.equal(faultOf(health), undefined);
  assert.deepEqual(changes, ["UNAVAILABLE", undefined]);
  health.close();
});

test("two missed lease renewals mean lost, unless anything else was answered or the renewal was refused", async () => {
  const { health } = watched({ base: "http://127.0.0.1:9", probes: 0 });
  const missed = () => assert.rejects(health.lease(unanswered), { code: "OUTCOME_UNKNOWN" });
  await missed();
  health.answered();
  await missed();
  await assert.rejects(
    health.lease(() => Promise.reject(new EngineError("ENGINE_MISSING", "Register it."))),
    { code: "ENGINE_MISSING" },
  );
  assert.equal(faultOf(health), undefined);
  await missed();
  assert.equal(faultOf(health), "UNAVAILABLE");
  health.answered();
  assert.equal(faultOf(health), undefined);
});

test("calls while the server is lost are refused, and earlier ones are abandoned", async () => {
  const { health } = watched({ base: "http://127.0.0.1:9", probes: 0 });
  const never = new Promise<never>(() => undefined);
  const read = health.guard(() => never);
  const write = health.guard(() => never, "unknown");
  const ends = Promise.allSettled([read, write]);
  assert.equal(await health.guard(async () => "done"), "done");
  for (let n = 0; n < 2; n += 1) await assert.rejects(health.lease(unanswered));
  const codes = (await ends).map((end) => end.status === "rejected" && [end.reason.code, end.reason.applied]);
  assert.deepEqual(codes, [
    ["UNAVAILABLE", false],
    ["UNAVAILABLE", "unknown"],
  ]);
  let pending = false;
  await assert.rejects(
    health.guard(async () => (pending = true)),
    { code: "UNAVAILABLE", applied: false },
  );
  assert.equal(pending, false);
  assert.throws(() => health.check(), { code: "UNAVAILABLE" });
});
