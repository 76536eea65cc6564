// Components of guests are committed: nobody else needs their toolchain. They are what their sources build to.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { installPinned } from "../install-pinned.ts";

const root = resolve(import.meta.dirname, "../..");
const toolchain = join(root, "examples/wasm");

test("the committed components of guests are what their sources build to, byte for byte", async () => {
  await installPinned(toolchain);
  const into = mkdtempSync(join(tmpdir(), "troupe-guests-"));
  try {
    await promisify(execFile)(process.execPath, [join(toolchain, "build.ts"), "--into", into]);
    const committed = globSync(["examples/wasm/*/*.wasm", "test/wasm/guests/*/*.wasm"], { cwd: root });
    assert.ok(committed.length >= 9);
    assert.deepEqual(readdirSync(into).toSorted(), committed.map((path) => basename(path)).toSorted());
    for (const path of committed) assert.ok(readFileSync(join(root, path)).equals(readFileSync(join(into, basename(path)))), path);
  } finally {
    rmSync(into, { recursive: true, force: true });
  }
});

test("a guest's component has a few kilobytes", () => {
  for (const path of globSync("examples/wasm/*/*.wasm", { cwd: root })) assert.ok(readFileSync(join(root, path)).length < 16_384, path);
});
