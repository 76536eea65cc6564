import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { load, release } from "../../src/cli/load-modules.ts";
import { desk } from "./lamps.fixture.ts";

test("a service that a module exports is named as its export is, counts once, and is let go unless it is served on", async () => {
  const loaded = await load([join(import.meta.dirname, "lamps.fixture.ts")]);
  const [source, ...more] = loaded.parts.flatMap(({ sources }) => sources);
  assert.ok(source);
  assert.equal(more.length, 0, "under its name and as the default it is one");
  const { catalogue } = await source.surface({ principal: "ann", scopes: [] });
  assert.deepEqual(
    catalogue.resources.map(({ definition }) => definition["uri"] ?? definition["uriTemplate"]),
    ["mcp://desk/page/{page}", "mcp://desk/state/on"],
  );
  assert.ok(desk.listeners() > 0);
  release(loaded, loaded);
  assert.ok(desk.listeners() > 0);
  release(loaded);
  assert.equal(desk.listeners(), 0);
});
