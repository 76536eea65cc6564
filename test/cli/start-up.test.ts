// A command loads what it needs: most of the time a short one takes goes into loading.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runningIn, troupe } from "./run.ts";

const hook = { NODE_OPTIONS: `--import=${pathToFileURL(join(import.meta.dirname, "imports.fixture.ts")).href}` };

const loadedBy = async (...args: readonly string[]): Promise<readonly string[]> => {
  await using command = runningIn(hook, ...args);
  assert.equal(await command.ended, 0, command.err());
  return /^loaded (.*)$/m.exec(command.err())?.[1]?.split(" ") ?? [];
};

describe("a command loads what it needs", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-start-up-"));
  const data = join(folder, "data");
  const module = join(folder, "bell.ts");

  before(async () => {
    writeFileSync(
      module,
      `import { actor } from "troupe/actor";
      export const bell = actor("bell", { describe: "A bell.", per: "shared", initial: () => ({ n: 0 }),
        tools: { ring: { describe: "Ring.", run({ state }) { state.n += 1; return state.n; } } } });`,
    );
    assert.equal((await troupe("call", "bell/one", "tools/ring", "--start", "--data", data, "--module", module)).code, 0);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("help and version load the command line only", async () => {
    for (const option of ["--version", "--help"]) assert.deepEqual(await loadedBy(option), ["cli", "commander", "contract"], option);
  });

  test("a list reads the store, and a chain is read without an engine", async () => {
    assert.deepEqual(await loadedBy("actors", "--data", data), ["cli", "commander", "contract", "store"]);
    assert.deepEqual(await loadedBy("chain", "bell/one", "--data", data), ["chain", "cli", "commander", "contract", "store"]);
    assert.deepEqual(await loadedBy("verify", "--data", data), ["chain", "cli", "commander", "contract", "store"]);
  });

  test("a server loads no tests and no other sources, and what asks it loads the command line only", async () => {
    await using served = runningIn(hook, "serve", module, "--http", "127.0.0.1:0", "--json", "--data", data);
    await served.said(/"ready":true/);
    assert.deepEqual(await loadedBy("call", "bell/one", "tools/ring", "--data", data), ["cli", "commander", "contract"]);
    served.child.kill("SIGTERM");
    assert.equal(await served.ended, 0);
    const loaded = /^loaded (.*)$/m.exec(served.err())?.[1]?.split(" ") ?? [];
    assert.ok(loaded.includes("engine"));
    assert.deepEqual(
      loaded.filter((part) => ["testing", "agentic", "restate", "yaml", "zod"].includes(part)),
      [],
    );
  });
});
