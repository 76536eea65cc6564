import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("V8 knows the flags that a server sets on this Node, and says nothing of them", () => {
  const { href } = new URL("v8-flags.ts", import.meta.url);
  const script = `const { setV8Flags } = await import(${JSON.stringify(href)}); setV8Flags(); console.log(process.versions.v8);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.deepEqual([status, stdout.trim(), stderr], [0, process.versions.v8, ""]);
});
