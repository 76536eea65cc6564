import assert from "node:assert/strict";
import { test } from "node:test";
import { ownName } from "./own-name.ts";

test("no principal has the name of a long principal's own actor", () => {
  const long = "x".repeat(300);
  const name = ownName("notes", long);
  assert.match(name, /^notes:sha256\|[0-9a-f]{64}$/);
  assert.notEqual(ownName("notes", name.slice("notes:".length)), name);
  assert.equal(ownName("notes", "https://login.example|ada"), "notes:https://login.example|ada");
});
