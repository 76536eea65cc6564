// Public names are documented: each of the subpaths that authors use, and more and more of the others.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "../..");
/** Names of other subpaths that have no docstring yet. It may only become smaller. */
const MOST_WITHOUT = 150;
const OURS = /^troupe(?:\/config|\/server|\/testing)? /;

test("every name of troupe, troupe/config, troupe/server and troupe/testing has a docstring, and what can be called an example", () => {
  const { stdout, stderr } = spawnSync(process.execPath, ["scripts/docs.ts", "undocumented", "--json"], { cwd: root, encoding: "utf8" });
  assert.match(stdout, /^\[/, stderr);
  const found = z.array(z.object({ name: z.string(), missing: z.enum(["comment", "example"]) })).parse(JSON.parse(stdout));
  assert.deepEqual(
    found.filter(({ name }) => OURS.test(name)),
    [],
  );
  assert.ok(found.length <= MOST_WITHOUT, `${found.length} names`);
});
