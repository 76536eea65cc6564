// A bounded version of bench/cost-search.ts. Its limits are ten times the target, so that it fails if a request has become
// expensive, and not on a slow machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchCosts } from "../bench/cost-search.ts";
import { HEADERS } from "../bench/cost-shapes.ts";

const CPU_MS = 500;
const MESSAGE_MS = 1_000;

const SHAPES = ["keys", "objects of many keys", "empty objects", "too deep"];
const PLACES = ["unknown argument", "progressToken", "payload", "data"];
const SIZES = ["many", "longest"];
const wanted = new Set([
  ...SHAPES.flatMap((shape) => PLACES.flatMap((place) => SIZES.map((size) => `${shape} as ${place}, ${size}`))),
  ...Object.keys(HEADERS).map((what) => `${what}, many`),
]);

test("no hostile request takes much processor time for its bytes, or blocks for long", { timeout: 300_000 }, async () => {
  const costs = await searchCosts({ wanted: (name) => wanted.has(name.replace(/^[^:]*: /, "")) });
  assert.ok(costs.length > 60, `${costs.length} were tried`);
  assert.deepEqual(
    costs.filter(({ cpuMs, messageMs }) => cpuMs > CPU_MS || messageMs > MESSAGE_MS),
    [],
  );
});
