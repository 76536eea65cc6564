// Each refusal of the function itself has a row in the guide to errors, with its status.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { REFUSALS } from "../../src/hosts/lambda/refusals.ts";

test("the error guide lists exactly the function's refusals with their status", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/guide/errors.md"), "utf8");
  const [, section = ""] = page.split("\n## AWS Lambda\n");
  const rows = Array.from((section.split("\n## ")[0] ?? "").matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm), ([, code, status]) => [
    code,
    Number(status),
  ]);
  assert.deepEqual(rows, Object.entries(REFUSALS));
});
