import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadWorld } from "../world/load.ts";
import type { World } from "../world/world.ts";
import { diceOf } from "./dice.ts";
import { armsOf, blow, winChance } from "./fight.ts";

const worlds = ["keep", "saltmarsh"].map((name) => loadWorld(fileURLToPath(new URL(`../worlds/${name}.yaml`, import.meta.url))));
const SEEDS = 10_000;

/** The best weapon and armor against this monster. */
function rightItems(world: World, monster: string): readonly string[] {
  const ids = Object.keys(world.items);
  const best = (force: (id: string) => number): string | undefined => ids.toSorted((a, b) => force(b) - force(a))[0];
  return [best((id) => armsOf(world, [id], monster).attack), best((id) => armsOf(world, [id], monster).armor)].flatMap((id) => id ?? []);
}

for (const world of worlds) {
  test(`${world.title}: over 10,000 seeds a fresh hero beats the weakest monster in 60 to 90 of 100 fights`, () => {
    const chances = Object.keys(world.monsters).map((id) => winChance(world, id, [], SEEDS));
    const easiest = Math.max(...chances);
    assert.ok(easiest >= 0.6 && easiest <= 0.9, String(easiest));
  });

  test(`${world.title}: over 10,000 seeds the guardian falls to 5 to 30 of 100 bare heroes, and to 60 or more with the right items`, () => {
    const guardian = Object.keys(world.monsters).find((id) => world.monsters[id]?.guardian) ?? "";
    const bare = winChance(world, guardian, [], SEEDS);
    const armed = winChance(world, guardian, rightItems(world, guardian), SEEDS);
    assert.ok(bare >= 0.05 && bare <= 0.3, String(bare));
    assert.ok(armed >= 0.6, String(armed));
  });
}

test("a hit is 0.5 to 1.5 times the attack, less armor, at least 1 #mud.fights", () => {
  const dice = diceOf(1);
  for (let n = 0; n < 5_000; n += 1) {
    const damage = blow(20, 3, 0.5, dice);
    assert.ok(damage === 0 || (damage >= 7 && damage <= 27), String(damage));
  }
  assert.equal(
    blow(1, 100, 1, () => 0.2),
    1,
  );
  assert.equal(
    blow(0, 0, 1, () => 0),
    0,
  );
});

test("the best weapon and armor count, and a bane only against its monster", () => {
  const [keep] = worlds;
  assert.ok(keep !== undefined);
  const { attack } = keep.hero;
  assert.deepEqual(armsOf(keep, ["chain_mail", "kings_shield"]), { attack, armor: 5 });
  assert.equal(armsOf(keep, ["kings_sword"]).attack, attack + 10);
  assert.equal(armsOf(keep, ["kings_sword"], "stone_guardian").attack, attack + 14);
});
