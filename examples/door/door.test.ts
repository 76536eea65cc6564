import assert from "node:assert/strict";
import { test } from "node:test";
import { rehearse } from "troupe/testing";
import { door } from "./index.ts";

test("a locked door refuses to open, an unlocked one opens, an open one says why not", () => {
  const stage = rehearse(door, { key: "local" });
  assert.deepEqual(stage.turn("tools/open").reply, { refused: { code: "REFUSED", message: "It is locked." } });
  assert.deepEqual(stage.turn("tools/unlock").reply, { ok: "Click." });
  assert.deepEqual(stage.turn("tools/open").reply, { ok: "It creaks open." });
  assert.deepEqual(stage.turn("tools/open").reply, { refused: { code: "NOT_NOW", message: "It is already open." } });
  assert.deepEqual(stage.view("tools/look"), { ok: "Open." });
  assert.deepEqual(stage.view("resources/state"), { ok: { open: true, locked: false } });
});

test("a door shows at every moment what can be done with it, and why not the rest", () => {
  const stage = rehearse(door);
  assert.deepEqual(stage.surface()?.off, { "tools/close": "It is not open." });
  stage.turn("tools/unlock");
  assert.deepEqual(stage.surface()?.off, { "tools/close": "It is not open.", "tools/unlock": "It is not locked." });
});

test("a knock is heard", () => {
  const stage = rehearse(door);
  stage.turn("knock");
  assert.deepEqual(stage.emitted, ["Somebody knocks."]);
});
