// At the end of standard input, running calls share one grace period, and are then answered with an error.
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { createServer } from "troupe/server";
import { settle, SimulatedClock } from "../../src/testing/index.ts";
import { envelope } from "../wire.ts";

const GRACE_MS = 5_000;
const call = (id: number, meta: object): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "hang", arguments: {}, _meta: meta } })}\n`;
const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const HELLO = `${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: INITIALIZE })}\n`;

for (const [era, lines] of [
  ["2025-11-25", `${HELLO}${call(1, {})}${call(2, {})}`],
  ["2026-07-28", `${call(1, envelope())}${call(2, envelope())}`],
] as const)
  test(`calls that outlast the one grace after the end of input are answered -31503, ${era}`, { timeout: 60_000 }, async () => {
    const clock = new SimulatedClock();
    const [input, output] = [new PassThrough(), new PassThrough()];
    await using server = createServer("s", "1", { clock });
    const hanging = Promise.withResolvers<void>();
    let running = 0;
    const signals: AbortSignal[] = [];
    server.tools.register({ name: "hang" }, ({ signal }) => {
      signals.push(signal);
      running += 1;
      if (running === 2) hanging.resolve();
      return new Promise(() => undefined);
    });
    const { stdio } = await server.listen({ stdio: { input, output, graceMs: GRACE_MS } });
    input.end(lines);
    await hanging.promise;
    await stdio.ended;
    await clock.advance(GRACE_MS - 1);
    const before = String(output.read() ?? "");
    assert.doesNotMatch(before, /"error"/);
    assert.deepEqual([signals.length, signals.some(({ aborted }) => aborted)], [2, false]);
    await clock.advance(1);
    await stdio.closed;
    await settle();
    const answers = String(output.read()).trim().split("\n");
    assert.deepEqual(
      answers.map((line) => [JSON.parse(line).id, JSON.parse(line).error.code]),
      [
        [1, -31503],
        [2, -31503],
      ],
    );
    assert.ok(signals.every(({ aborted }) => aborted));
  });
