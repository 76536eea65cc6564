// The published declarations import no SDK, and the servers of both SDKs match them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);
const tsc = (...args: string[]) => run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], { cwd: root });

it("servers of both SDKs match the emitted declarations, which import neither #server.sdk", async () => {
  const out = mkdtempSync(join(tmpdir(), "troupe-sdk-"));
  try {
    const options = {
      noEmit: false,
      outDir: join(out, "dist"),
      rootDir: join(root, "src"),
      declaration: true,
      typeRoots: [join(root, "node_modules/@types")],
    };
    writeFileSync(
      join(out, "emit.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: options,
        files: [join(root, "src/mcp/mount/index.ts")],
        include: [],
      }),
    );
    await tsc("-p", join(out, "emit.json"));
    const emitted = globSync("dist/**/*", { cwd: out, withFileTypes: true }).filter((one) => one.isFile());
    assert.ok(emitted.some(({ name }) => name === "from-mcp-server.d.ts"));
    for (const { parentPath, name } of emitted)
      if (parentPath.endsWith("/mount"))
        assert.doesNotMatch(readFileSync(join(parentPath, name), "utf8"), /["']@modelcontextprotocol/, name);

    const consumer = {
      noEmit: true,
      customConditions: [],
      paths: { "troupe/mount": [join(out, "dist/mcp/mount/index.d.ts")] },
      typeRoots: options.typeRoots,
    };
    writeFileSync(
      join(out, "consume.json"),
      JSON.stringify({
        extends: join(root, "tsconfig.json"),
        compilerOptions: consumer,
        files: [join(root, "test/sdk/consumer.fixture.ts")],
        include: [],
      }),
    );
    await tsc("-p", join(out, "consume.json"));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
});
