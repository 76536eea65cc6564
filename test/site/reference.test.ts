// Each public name is documented.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "../..");

test("every public name has a docstring, and each function of the main subpaths an example", () => {
  const { stdout, stderr } = spawnSync(process.execPath, ["scripts/docs.ts", "undocumented", "--json"], { cwd: root, encoding: "utf8" });
  assert.match(stdout, /^\[/, stderr);
  const found = z.array(z.object({ name: z.string(), missing: z.enum(["comment", "example"]) })).parse(JSON.parse(stdout));
  assert.deepEqual(found, []);
});
