// A command loads what it needs: most of the time a short one takes goes into loading.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
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

const OF_OTHERS = new Set(["ajv", "console", "jose", "restate", "smol-toml", "theater", "wasm", "packet", "ws", "yaml"]);

/** A server that has said it is ready and was told to stop: what it had loaded by then. */
const servedBy = async (...args: readonly string[]): Promise<{ readonly loaded: readonly string[]; readonly files: readonly string[] }> => {
  await using served = runningIn(hook, "serve", ...args, "--json");
  await served.said(/"ready":true/);
  served.child.kill("SIGTERM");
  assert.equal(await served.ended, 0);
  const words = (line: RegExp): readonly string[] => line.exec(served.err())?.[1]?.split(" ") ?? [];
  return { loaded: words(/^loaded (.*)$/m), files: words(/^files (.*)$/m) };
};

/** Of the store, it has the file of secrets alone, which data directories need; of the operations, their errors and paging. */
const COMMAND_LINE = ["cli", "commander", "contract", "operate", "store"];

describe("a command loads what it needs", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-start-up-"));
  const data = join(folder, "data");
  const module = join(folder, "bell.ts");

  before(async () => {
    writeFileSync(
      module,
      `import { actor } from "troupe/actor";
      export const bell = actor("bell", { description: "A bell.", per: "shared", initial: () => ({ n: 0 }),
        tools: { ring: { description: "Ring.", run({ state }) { state.n += 1; return state.n; } } } });`,
    );
    assert.equal((await troupe("call", "bell/one", "tools/ring", "--start", "--data", data, "--module", module)).code, 0);
  });
  const servedMemory = (...door: readonly string[]): ReturnType<typeof servedBy> => {
    const memory = join(folder, "memory.ts");
    writeFileSync(
      memory,
      `import { actor } from "troupe";\nexport const bell = actor("bell", { description: "A bell.", per: "shared", persistence: "memory", initial: () => ({ n: 0 }) });`,
    );
    return servedBy(memory, ...door);
  };
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("help loads the command line only, and the version not even the commands", async () => {
    assert.deepEqual(await loadedBy("--help"), COMMAND_LINE);
    assert.deepEqual(
      await loadedBy("--version"),
      COMMAND_LINE.filter((layer) => layer !== "store"),
    );
  });

  test("a list reads the store, and a chain is read without an engine", async () => {
    assert.deepEqual(await loadedBy("actors", "--data", data), COMMAND_LINE);
    assert.deepEqual(await loadedBy("chain", "bell/one", "--data", data), ["chain", ...COMMAND_LINE]);
    assert.deepEqual(await loadedBy("verify", "--data", data), ["chain", ...COMMAND_LINE]);
  });

  test("a server loads no tests and no other sources, and what asks it loads the command line only", async () => {
    await using served = runningIn(hook, "serve", module, "--http", "127.0.0.1:0", "--json", "--data", data);
    await served.said(/"ready":true/);
    assert.deepEqual(await loadedBy("call", "bell/one", "tools/ring", "--data", data), COMMAND_LINE);
    served.child.kill("SIGTERM");
    assert.equal(await served.ended, 0);
    const loaded = /^loaded (.*)$/m.exec(served.err())?.[1]?.split(" ") ?? [];
    assert.ok(loaded.includes("engine"));
    assert.deepEqual(
      loaded.filter((part) => ["testing", "agentic", "console", "restate", "yaml", "zod"].includes(part)),
      [],
    );
  });

  test("a memory actor over stdio loads neither a store's files nor another door, nor what a door may need later", async () => {
    const { loaded, files } = await servedMemory("--stdio");
    assert.deepEqual(
      loaded.filter((part) => OF_OTHERS.has(part)),
      [],
    );
    assert.deepEqual(
      files.filter((file) => file.startsWith("store/")),
      ["store/memory-sessions.ts", "store/rules.ts", "store/secret-file.ts"],
    );
    assert.deepEqual(
      files.filter((file) =>
        /^transport\/(http|tcp|web|auth|index)|^cli\/(control|commands\/chain|server\/(authentication|packets|theater|cluster-backend))/.test(
          file,
        ),
      ),
      [],
    );
  });

  test("over HTTP it loads that door alone, and neither WebSockets nor tokens of issuers", async () => {
    const { loaded, files } = await servedMemory("--http", "127.0.0.1:0");
    assert.deepEqual(
      loaded.filter((part) => OF_OTHERS.has(part)),
      [],
    );
    assert.ok(files.includes("transport/http.ts"));
    assert.deepEqual(
      files.filter((file) => /^transport\/(stdio|tcp|web|auth\/issuer|auth\/jwks|index)/.test(file)),
      [],
    );
  });

  test("compiled code is kept where nobody else can put any: in a folder of the user's own, not in the temporary one", async () => {
    const cache = join(folder, "cache");
    const temporary = join(folder, "tmp");
    mkdirSync(temporary);
    const run = async (XDG_CACHE_HOME: string): Promise<void> => {
      await using command = runningIn({ XDG_CACHE_HOME, TMPDIR: temporary, NODE_COMPILE_CACHE: "" }, "--version");
      assert.equal(await command.ended, 0, command.err());
    };
    await run(cache);
    assert.ok(readdirSync(join(cache, "troupe")).length > 0);
    assert.equal(statSync(join(cache, "troupe")).mode & 0o777, 0o700);
    // A folder that others may write to is not used, and one that cannot be made is no failure.
    const open = join(folder, "open");
    mkdirSync(join(open, "troupe"), { recursive: true });
    chmodSync(join(open, "troupe"), 0o777);
    await run(open);
    assert.deepEqual(readdirSync(join(open, "troupe")), []);
    await run(module);
    assert.deepEqual(readdirSync(temporary), []);
  });
});
