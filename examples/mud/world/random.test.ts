import assert from "node:assert/strict";
import { test } from "node:test";
import { misplaced, playthrough } from "../play/playthrough.ts";
import { checkFinish } from "./finish.ts";
import { randomWorld } from "./random.ts";
import { checkReferences } from "./references.ts";

test("every random world is finished by a careful player, or rejected with the reason #mud.worlds.finish", () => {
  let finished = 0;
  let rejected = 0;
  for (let seed = 0; seed < 500; seed += 1) {
    const world = randomWorld(seed);
    assert.deepEqual(checkReferences(world), [], `seed ${seed}`);
    const problems = checkFinish(world);
    if (problems.length > 0) {
      rejected += 1;
      for (const { text } of problems) assert.match(text, /^(the|whoever|a hero) .+: .+\.$/);
      continue;
    }
    finished += 1;
    const played = playthrough(world, seed, 5_000, (model) => assert.deepEqual(misplaced(model), [], `seed ${seed}`));
    assert.ok(played.ended, `seed ${seed}: ${JSON.stringify(played)}`);
  }
  assert.ok(finished > 100, `${finished} finished`);
  assert.ok(rejected > 100, `${rejected} rejected`);
});

test("a world that is rejected for its ending cannot be finished", () => {
  let lost = 0;
  for (let seed = 0; seed < 300 && lost < 20; seed += 1) {
    const world = randomWorld(seed);
    const shut = checkFinish(world).some(
      ({ path, text }) => path[0] === "rooms" && path[1] === world.ending.room && /cannot be reached/.test(text),
    );
    if (!shut) continue;
    lost += 1;
    assert.equal(playthrough(world, seed, 400).ended, false, `seed ${seed}`);
  }
  assert.ok(lost > 5);
});

test("the same seed makes the same world", () => {
  assert.deepEqual(randomWorld(7), randomWorld(7));
  assert.notDeepEqual(randomWorld(7), randomWorld(8));
});
