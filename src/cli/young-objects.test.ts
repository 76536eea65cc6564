import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";

test("V8 knows the flag of this Node by which objects are not judged for good, and says nothing of it", () => {
  const { href } = new URL("young-objects.ts", import.meta.url);
  const script = `const { leaveYoungObjectsYoung } = await import(${JSON.stringify(href)}); leaveYoungObjectsYoung(); console.log(process.versions.v8);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.deepEqual([status, stdout.trim(), stderr], [0, process.versions.v8, ""]);
});
