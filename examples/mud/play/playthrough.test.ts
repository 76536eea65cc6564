import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadWorld } from "../world/load.ts";
import { misplaced, playthrough } from "./playthrough.ts";

for (const name of ["keep", "saltmarsh"]) {
  const world = loadWorld(fileURLToPath(new URL(`../worlds/${name}.yaml`, import.meta.url)));
  test(`${world.title}: a careful player reaches the ending by the rules alone, and everything is always in exactly one place`, () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const played = playthrough(world, seed, 3_000, (model) => assert.deepEqual(misplaced(model), []));
      assert.ok(played.ended, JSON.stringify(played));
    }
  });
}
