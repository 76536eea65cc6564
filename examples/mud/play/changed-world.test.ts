import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { memoryStore } from "troupe/store";
import { parseWorld, worlds } from "../index.ts";
import { Table, viewer } from "./table.fixture.ts";

const [file = ""] = worlds;
const yaml = readFileSync(file, "utf8");
const keep = parseWorld(yaml, "keep.yaml");
const ann = viewer("ann");
const bob = viewer("bob");

test("a world whose things were renamed, taken out, added and moved is played on, and every thing is in one place", async () => {
  const store = memoryStore();
  {
    await using table = await Table.lay(keep, { store });
    for (const who of [ann, bob]) await table.tell(who, "say", { text: "hi" });
    await table.tell(ann, "pick_up", { item: "torch" });
    for (const who of [ann, bob]) await table.tell(who, "move", { direction: "north" });
    await table.tell(bob, "pick_up", { item: "leather_pouch" });
    await table.tell(ann, "move", { direction: "east" });
    await table.quiet();
  }
  const changed = parseWorld(
    yaml
      .replace("items: [torch]", "items: [flare, whistle, rope]")
      .replace("  torch:\n    name: Torch", "  whistle: { name: Whistle, description: Shrill. }\n  flare:\n    name: Flare")
      .replace("items: [rope]", "items: []")
      .replace(/ {4}items: \[leather_pouch\]\n/, "")
      .replace(/ {2}leather_pouch:.*\n(?: {4}.*\n)*/, ""),
    "keep.yaml",
  );
  await using table = await Table.lay(changed, { store });
  assert.equal(await table.tell(ann, "inventory"), "You carry nothing. Health: 100 of 100.");
  assert.match(await table.tell(bob, "look"), /^Since your last turn:\n.+You are in a dark hallway/s);
  assert.doesNotMatch(await table.tell(bob, "look"), /Pouch/);
  await table.tell(bob, "move", { direction: "south" });
  assert.match(await table.tell(bob, "look"), /A torch flickers on the wall.+You see: Whistle, Coil of Rope\./s);
  for (const item of ["flare", "whistle", "rope"]) assert.match(await table.tell(bob, "pick_up", { item }), /You pick up/);
  await table.tell(bob, "move", { direction: "north" });
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual((await table.player(bob)).items, ["flare", "whistle", "rope"]);
  assert.deepEqual(table.faults, []);
  assert.deepEqual(await table.store.letters(5), []);
});

test("who is in a room that the world has no more goes on at the start, with what it carries", async () => {
  const store = memoryStore();
  {
    await using table = await Table.lay(keep, { store });
    await table.tell(ann, "pick_up", { item: "torch" });
    for (const direction of ["north", "east", "south"]) await table.tell(ann, "move", { direction });
    await table.tell(ann, "battle");
    await table.quiet();
  }
  const renamed = parseWorld(yaml.replace("\n  cellar:", "\n  flooded:").replace("south: cellar", "south: flooded"), "keep.yaml");
  await using table = await Table.lay(renamed, { store });
  assert.match(await table.tell(ann, "look"), /^You are at the dungeon entrance/);
  assert.match(await table.tell(ann, "say", { text: "Where am I?" }), /You say/);
  assert.match(await table.tell(ann, "inventory"), /^You carry: Torch\./);
  for (const direction of ["north", "east", "south"]) await table.tell(ann, "move", { direction });
  assert.match(await table.tell(ann, "look"), /cellar, knee-deep.+Cave Goblin/s);
  await table.quiet();
  assert.deepEqual(table.faults, []);
});

test("a monster that lives in a room since the world changed is there, and one that is no more is gone", async () => {
  const store = memoryStore();
  {
    await using table = await Table.lay(keep, { store });
    await table.tell(ann, "pick_up", { item: "torch" });
    for (const direction of ["north", "east", "south"]) await table.tell(ann, "move", { direction });
    await table.tell(ann, "battle");
    await table.quiet();
  }
  const changed = parseWorld(
    yaml.replaceAll("cave_goblin", "barrel_troll").replace("name: Cave Goblin", "name: Barrel Troll"),
    "keep.yaml",
  );
  await using table = await Table.lay(changed, { store });
  assert.match(
    await table.prompt(ann, "battle_prompt"),
    /You face the Barrel Troll.+health 45 of 45.+walk away: you are not in the fight yet/s,
  );
  assert.match(await table.tell(ann, "move", { direction: "north" }), /You go north/);
  assert.deepEqual(table.faults, []);
});
