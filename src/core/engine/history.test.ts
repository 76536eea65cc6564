import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryStore } from "../store/index.ts";
import { tallyKind } from "../../testing/index.ts";
import { LocalEngine } from "./index.ts";

test("others are served while a long chain is read", async () => {
  await using engine = await LocalEngine.start({ kinds: [tallyKind("tally")], store: memoryStore() });
  for (let n = 0; n < 2_000; n += 1) await engine.call({ to: "tally/a", action: "add", args: null, start: null });
  let [rounds, events] = [0, 0];
  const round = (): void => {
    rounds += 1;
    next = setImmediate(round);
  };
  let next = setImmediate(round);
  for await (const _ of engine.history("tally/a")) events += 1;
  clearImmediate(next);
  assert.equal(events, 2_000);
  assert.ok(rounds >= 5, `${rounds} rounds of the event loop`);
});
