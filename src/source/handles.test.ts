import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock, SimulatedEntropy, tallyKind } from "../testing/index.ts";
import { Handles } from "./handles.ts";

test("one principal starts a bounded number of actors by handles, and no more than its share", async () => {
  const never = () => Promise.reject(new Error("Minting asks no engine."));
  const clock = new SimulatedClock();
  const engine = { call: never, read: never, stop: never };
  const handles = new Handles({ engine, clock, entropy: new SimulatedEntropy(), expireMs: 60_000, secret: undefined });
  const kind = tallyKind("tally");
  /** How many of so many starts were not refused. */
  const started = (times: number, principal?: () => string): number => {
    let count = 0;
    for (let n = 0; n < times; n += 1) {
      const reply = handles.start(kind, { scopes: [], ...(principal === undefined ? {} : { principal: principal() }) });
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
  // Sessions without a token are nobody's own, however many are opened.
  between(started(10_000) + started(10_000, () => `session|${(session += 1)}`), 9_000, 10_000);
});
