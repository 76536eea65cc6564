import assert from "node:assert/strict";
import { test } from "node:test";
import { SimulatedClock } from "../../../testing/index.ts";
import { Semaphore } from "./command-client.ts";

test("the semaphore is fair, and bounds its queue and its wait", async () => {
  const clock = new SimulatedClock();
  const permits = new Semaphore(1, 2, clock);
  assert.equal(await permits.acquire(10), true);
  const order: string[] = [];
  const take = async (name: string, ms: number): Promise<void> => void order.push(`${name} ${await permits.acquire(ms)}`);
  const waiting = [take("impatient", 10), take("patient", 1_000)];
  assert.equal(await permits.acquire(1_000), false);
  await clock.advance(10);
  permits.release();
  await Promise.all(waiting);
  assert.deepEqual(order, ["impatient false", "patient true"]);
  permits.release();
  assert.equal(await permits.acquire(1), true);
  assert.equal(clock.pending, 0);
});
