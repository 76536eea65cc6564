import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock, SimulatedEntropy, tallyKind } from "../../testing/index.ts";
import { Handles } from "./handles.ts";

test("each principal and each peer without one starts a bounded number of handles", async () => {
  const never = () => Promise.reject(new Error("Minting asks no engine."));
  const clock = new SimulatedClock();
  const engine = { call: never, read: never, stop: never };
  const handles = new Handles({ engine, clock, entropy: new SimulatedEntropy(), expireMs: 60_000, secret: undefined });
  const kind = tallyKind("tally");
  /** How many of so many starts were not refused. */
  const started = (times: number, principal?: () => string, peer?: () => string): number => {
    let count = 0;
    for (let n = 0; n < times; n += 1) {
      const reply = handles.start(kind, { scopes: [], ...(principal === undefined ? {} : { principal: principal() }) }, peer?.());
      if ("ok" in reply) count += 1;
      else if ("refused" in reply) assert.equal(reply.refused.code, "START_LIMIT");
    }
    return count;
  };
  const between = (count: number, least: number, most: number): void => assert.ok(count >= least && count <= most, String(count));
  between(
    started(3_000, () => "ann"),
    900,
    1_000,
  );
  between(
    started(100, () => "bob"),
    100,
    100,
  );
  await clock.advance(2_000);
  between(
    started(100, () => "ann"),
    5,
    10,
  );
  let session = 0;
  const sessionOf = (): string => `session|${(session += 1)}`;
  // Sessions without a token are not counted by themselves, however many are opened.
  const local = started(5_000) + started(5_000, sessionOf, () => "127.0.0.1") + started(5_000, undefined, () => "::1");
  between(local, 9_000, 10_000);
  let host = 0;
  const network = (): string => `2001:db8::${(host += 1).toString(16)}`;
  between(started(2_000, undefined, network) + started(2_000, sessionOf, network), 900, 1_000);
  // One peer takes nothing from another, and where a principal calls from does not matter.
  assert.deepEqual([started(100, sessionOf, () => "192.0.2.1"), started(100, undefined, () => "2001:db8:0:1::1")], [100, 100]);
  assert.equal(
    started(
      100,
      () => "carol",
      () => "2001:db8::1",
    ),
    100,
  );
});
