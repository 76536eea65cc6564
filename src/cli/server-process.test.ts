import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { missingFlags } from "./server-process.ts";

test("V8 accepts the flags that a server sets, without a warning", () => {
  const { href } = new URL("server-process.ts", import.meta.url);
  const script = `const { setV8Flags } = await import(${JSON.stringify(href)}); setV8Flags(); console.log(process.versions.v8);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.deepEqual([status, stdout.trim(), stderr], [0, process.versions.v8, ""]);
});

test("a flag that Node was started with has precedence, however it is written", () => {
  const all = missingFlags(["--conditions=x", "--max-inlined-bytecode=7"]);
  assert.equal(all.length, 3);
  for (const flag of all) {
    const name = flag.replace(/^--(?:no-)?/, "").replace(/=.*/, "");
    const written = [
      `--${name}`,
      `--no-${name}`,
      `--no${name}`,
      `--no_${name.replaceAll("-", "_")}`,
      `--${name}=5`,
      `--${name.replaceAll("-", "_")}=5`,
    ];
    for (const given of written)
      assert.deepEqual(
        missingFlags([given]),
        all.filter((one) => one !== flag),
        given,
      );
  }
});
