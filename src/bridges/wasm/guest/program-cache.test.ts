import assert from "node:assert/strict";
import { test } from "node:test";
import { WeightedCache } from "./program-cache.ts";

test("the cache evicts by weight, shares concurrent loads, and retries failed ones", async () => {
  const kept = new WeightedCache<string>(10);
  let loads = 0;
  const load = (value: string, weight: number) => async () => ({ value: `${value}${(loads += 1)}`, weight });
  assert.deepEqual(await Promise.all([kept.get("a", load("a", 4)), kept.get("a", load("a", 4))]), ["a1", "a1"]);
  await kept.get("b", load("b", 4));
  await kept.get("a", load("a", 4));
  await kept.get("c", load("c", 4));
  assert.deepEqual([await kept.get("a", load("a", 4)), await kept.get("b", load("b", 4))], ["a1", "b4"]);
  const fails = async (): Promise<never> => {
    throw new Error("no");
  };
  await assert.rejects(kept.get("d", fails));
  assert.equal(await kept.get("d", load("d", 1)), "d5");
  kept.put("d", "put", 1);
  assert.equal(await kept.get("d", load("d", 1)), "put");
});
