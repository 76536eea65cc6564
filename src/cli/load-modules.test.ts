import assert from "node:assert/strict";
import { test } from "node:test";
import { isModuleFile } from "./load-modules.ts";

test("troupe dev reloads for sources and worlds only, not for files that a server writes", () => {
  for (const file of ["shop.ts", "rooms/hall.mts", "a.js", "b.cjs", "c.tsx", "keep.yaml", "keep.yml", "rooms\\hall.ts"])
    assert.ok(isModuleFile(file), file);
  for (const file of [
    "dev.log",
    "troupe.db-wal",
    "out.json",
    ".troupe/x.ts",
    "node_modules/zod/index.js",
    "a/node_modules/b.ts",
    ".git/HEAD",
    "ts",
    "shop.ts~",
  ])
    assert.ok(!isModuleFile(file), file);
});
