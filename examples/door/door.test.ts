import assert from "node:assert/strict";
import { test } from "node:test";
import { testActor } from "troupe/testing";
import { door } from "./index.ts";

test("a locked door refuses to open, an unlocked one opens, an open one gives a reason", () => {
  const front = testActor(door, { key: "local" });
  assert.deepEqual(front.turn("tools/open").reply, { refused: { code: "REFUSED", message: "It is locked." } });
  assert.deepEqual(front.turn("tools/unlock").reply, { ok: "Click." });
  assert.deepEqual(front.turn("tools/open").reply, { ok: "It creaks open." });
  assert.deepEqual(front.turn("tools/open").reply, { refused: { code: "NOT_NOW", message: "It is already open." } });
  assert.deepEqual(front.view("tools/look"), { ok: "Open." });
  assert.deepEqual(front.view("resources/state"), { ok: { open: true, locked: false } });
});

test("each unavailable tool of the door has a reason", () => {
  const front = testActor(door);
  assert.deepEqual(front.surface()?.off, { "tools/close": "It is not open." });
  front.turn("tools/unlock");
  assert.deepEqual(front.surface()?.off, { "tools/close": "It is not open.", "tools/unlock": "It is not locked." });
});

test("a knock emits a text", () => {
  const front = testActor(door);
  front.turn("knock");
  assert.deepEqual(front.emitted, ["Somebody knocks."]);
});
