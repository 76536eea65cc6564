import assert from "node:assert/strict";
import { test } from "node:test";
import { loadWorld } from "../../world/load.ts";
import { worlds } from "../../index.ts";
import { nameProblem } from "./naming.ts";

const keep = loadWorld(worlds[0] ?? "");

test("names of monsters, characters, items and chests, and words for them, are refused", () => {
  const taken = ["Cave Goblin", "cave goblin", "A Cave-Goblin", "Old Hermit", "Torch", "King's Sword", "kings sword", "Silver Casket"];
  for (const name of [...taken, "You", "myself", "Chest", "Monster", "Quest"])
    assert.equal(nameProblem(keep, name), "That name means somebody or something else here: choose another.", name);
});

test("names that begin with The are refused", () => {
  for (const name of ["The", "the", "The Torch", "THE END"])
    assert.equal(nameProblem(keep, name), "A name does not begin with The: choose another.", name);
});

test("other names are allowed", () => {
  for (const name of ["Theo", "The\u0301a", "Ann", "Goblin", "Casket", "O'Brien", "Jean-Luc", "李小龍"])
    assert.equal(nameProblem(keep, name.normalize("NFC")), undefined, name);
});
