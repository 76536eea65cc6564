import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { quickFiles } from "../scripts/quick-files.ts";

// Split in two, or this file would be excluded itself.
const STARTER = ["node", "child_process"].join(":");

test("the quick tests leave out files that start processes, directly or by import, and slow ones", () => {
  const root = mkdtempSync(join(tmpdir(), "troupe-quick-"));
  try {
    mkdirSync(join(root, "src/node_modules"), { recursive: true });
    const files = {
      "plain.test.ts": 'import { test } from "node:test";',
      "direct.test.ts": `import { fork } from "${STARTER}";`,
      "starter.ts": `import { fork } from "${STARTER}";`,
      "helper.ts": 'export * from "./starter.ts";',
      "imported.test.ts": 'import {\n  help,\n} from "./helper.ts";',
      "types.test.ts": 'import type { Help } from "./helper.ts";',
      "missing.test.ts": 'import "./missing.ts";',
      "slow.test.ts": "// slow: a million turns\n",
      "node_modules/foreign.test.ts": 'import { test } from "node:test";',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "src", name), text);
    const { run, leftOut } = quickFiles(root);
    assert.deepEqual(run, ["src/missing.test.ts", "src/plain.test.ts", "src/types.test.ts"]);
    assert.deepEqual(Object.fromEntries(leftOut), {
      "src/direct.test.ts": "starts processes or threads",
      "src/imported.test.ts": "starts processes or threads",
      "src/slow.test.ts": "slow: a million turns",
    });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

test("most tests of the core are quick tests, and the command's are not", () => {
  const { run, leftOut } = quickFiles(resolve(import.meta.dirname, ".."));
  assert.ok(run.includes("src/core/chain/patch.test.ts"));
  assert.ok(run.includes("test/quick-files.test.ts"));
  assert.ok(leftOut.has("test/cli/serve.test.ts"));
});
