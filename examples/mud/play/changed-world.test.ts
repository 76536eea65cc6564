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

test("a game goes on after items were renamed, removed, added and moved, each in one place", async () => {
  const store = memoryStore();
  {
    await using table = await Table.open(keep, { store });
    for (const who of [ann, bob]) await table.call(who, "say", { text: "hi" });
    await table.call(ann, "pick_up", { item: "torch" });
    for (const who of [ann, bob]) await table.call(who, "move", { direction: "north" });
    await table.call(bob, "pick_up", { item: "leather_pouch" });
    await table.call(ann, "move", { direction: "east" });
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
  await using table = await Table.open(changed, { store });
  assert.equal(await table.call(ann, "inventory"), "You carry nothing. Health: 100 of 100.");
  assert.match(await table.call(bob, "look"), /^Since your last turn:\n.+You are in a dark hallway/s);
  assert.doesNotMatch(await table.call(bob, "look"), /Pouch/);
  await table.call(bob, "move", { direction: "south" });
  assert.match(await table.call(bob, "look"), /A torch flickers on the wall.+You see: Whistle, Coil of Rope\./s);
  for (const item of ["flare", "whistle", "rope"]) assert.match(await table.call(bob, "pick_up", { item }), /You pick up/);
  await table.call(bob, "move", { direction: "north" });
  await table.quiet();
  assert.deepEqual(await table.misplaced(), []);
  assert.deepEqual((await table.player(bob)).items, ["flare", "whistle", "rope"]);
  assert.deepEqual(table.faults, []);
  assert.deepEqual(await table.store.letters(5), []);
});

test("a player in a removed room is moved to the start with its items", async () => {
  const store = memoryStore();
  {
    await using table = await Table.open(keep, { store });
    await table.call(ann, "pick_up", { item: "torch" });
    for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
    await table.call(ann, "battle");
    await table.quiet();
  }
  const renamed = parseWorld(yaml.replace("\n  cellar:", "\n  flooded:").replace("south: cellar", "south: flooded"), "keep.yaml");
  await using table = await Table.open(renamed, { store });
  assert.match(await table.call(ann, "look"), /^You are at the dungeon entrance/);
  assert.match(await table.call(ann, "say", { text: "Where am I?" }), /You say/);
  assert.match(await table.call(ann, "inventory"), /^You carry: Torch\./);
  for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
  assert.match(await table.call(ann, "look"), /cellar, knee-deep.+Cave Goblin/s);
  await table.quiet();
  assert.deepEqual(table.faults, []);
});

test("a player who is moved to another start than before finds it on the map", async () => {
  const store = memoryStore();
  {
    await using table = await Table.open(keep, { store });
    for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
    await table.quiet();
  }
  const renamed = yaml
    .replace("start: entrance", "start: chapel")
    .replace("\n  cellar:", "\n  flooded:")
    .replace("south: cellar", "south: flooded");
  await using table = await Table.open(parseWorld(renamed, "keep.yaml"), { store });
  assert.match(await table.call(ann, "look"), /small chapel/);
  const { here, rooms } = await table.read(ann, "world_map");
  assert.equal(here, "chapel");
  assert.match(JSON.stringify(rooms), /"id":"chapel"/);
});

test("after a change of the world, added monsters appear and removed ones disappear", async () => {
  const store = memoryStore();
  {
    await using table = await Table.open(keep, { store });
    await table.call(ann, "pick_up", { item: "torch" });
    for (const direction of ["north", "east", "south"]) await table.call(ann, "move", { direction });
    await table.call(ann, "battle");
    await table.quiet();
  }
  const changed = parseWorld(
    yaml.replaceAll("cave_goblin", "barrel_troll").replace("name: Cave Goblin", "name: Barrel Troll"),
    "keep.yaml",
  );
  await using table = await Table.open(changed, { store });
  assert.match(
    await table.prompt(ann, "battle_prompt"),
    /You face the Barrel Troll.+health 45 of 45.+walk away: you are not in the fight yet/s,
  );
  assert.match(await table.call(ann, "move", { direction: "north" }), /You go north/);
  assert.deepEqual(table.faults, []);
});
