// Kinds that were served once and are not any more: their actors stay in the data directory, and nothing wakes them.
import assert from "node:assert/strict";
import { mkdtempDisposableSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { messageTo } from "troupe/conformance";
import { sqliteStore } from "troupe/store";
import { isJsonObject } from "../wire.ts";
import { lines, running, troupe } from "./run.ts";

const KIND = (kind: string): string => `
import { actor } from "troupe";
export const ${kind} = actor("${kind}", {
  description: "A ${kind}.", per: "shared", initial: () => ({ n: 0 }),
  tools: { use: { description: "Use it.", run({ state }) { state.n += 1; return state.n; } } },
});
`;

test("serve warns once of kinds in the directory that are not served, and actors marks theirs", async () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-unserved-"));
  try {
    const data = join(folder, "data");
    const files = ["bell", "lamp", "door"].map((kind) => {
      const file = join(folder, `${kind}.ts`);
      writeFileSync(file, KIND(kind));
      return file;
    });
    const [bell = ""] = files;
    const on = (...args: readonly string[]): ReturnType<typeof troupe> => troupe(...args, "--data", data);
    for (const actor of ["bell/one", "lamp/one", "lamp/two", "lamp/three", "door/one"])
      assert.equal((await on("call", actor, "tools/use", "--start", "--module", ...files)).code, 0);
    for (const ended of ["lamp/three", "door/one"]) assert.equal((await on("stop", ended, "--module", ...files)).code, 0);

    const known = await on("actors", "--json");
    assert.doesNotMatch(known.stdout, /served/, "nobody has said what is served");

    {
      await using machine = running("serve", bell, "--http", "127.0.0.1:0", "--data", data, "--json");
      await machine.said(/"ready":true/);
      // Of doors there are ended ones only.
      const [warning, ...more] = machine.err().match(/.*kinds-not-served.*/g) ?? [];
      assert.deepEqual(more, []);
      const logged: unknown = JSON.parse(warning ?? "null");
      assert.ok(isJsonObject(logged));
      assert.equal(logged["level"], "warn");
      assert.deepEqual(logged["kinds"], { lamp: 2 });
      assert.match(String(logged["what"]), /Serve the module/);
    }
    {
      await using human = running("serve", bell, "--http", "127.0.0.1:0", "--data", data);
      await human.said(/Ctrl-C stops it/);
      assert.match(human.err(), /Not served: lamp \(2 actors\)/);
    }

    const told = await on("actors");
    assert.match(told.stdout, /lamp\/one +1 +live, not served/);
    assert.match(told.stdout, /bell\/one +1 +live +\w/);
    assert.match(told.stdout, /door\/one +2 +stopped +\w/);
    assert.deepEqual(
      lines((await on("actors", "--json")).stdout).map((line) => isJsonObject(line) && [line["id"], line["served"]]),
      [
        ["bell/one", true],
        ["door/one", false],
        ["lamp/one", false],
        ["lamp/three", false],
        ["lamp/two", false],
      ],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const LETTERS = `
import { actor } from "troupe";
export const tray = actor("tray", {
  description: "A tray.", per: "link", initial: () => ({ got: [] }),
  tools: { look: { description: "Look.", view: ({ state }) => state.got } },
  messages: { put: { run({ state, args }) { state.got.push(args); } } },
});
`;

test("a start warns of no missing sessions where only a command has run", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-unserved-"));
  const data = join(folder.path, "data");
  const file = join(folder.path, "bell.ts");
  writeFileSync(file, KIND("bell"));
  assert.equal((await troupe("call", "bell/one", "tools/use", "--start", "--module", file, "--data", data)).code, 0);
  await using machine = running("serve", file, "--http", "127.0.0.1:0", "--data", data, "--json");
  await machine.said(/"ready":true/);
  assert.doesNotMatch(machine.err(), /sessions-missing/);
});

test("commands on other kinds leave messages to a kind that they do not load where they are", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-unserved-"));
  const data = join(folder.path, "data");
  const [bell, tray] = [join(folder.path, "bell.ts"), join(folder.path, "tray.ts")];
  writeFileSync(bell, KIND("bell"));
  writeFileSync(tray, LETTERS);
  {
    await using store = sqliteStore({ directory: data });
    for (const id of ["m1", "m2"]) await store.enqueue(messageTo("tray/one", id, { action: "put", args: id, start: null }));
  }
  for (let times = 0; times < 4; times += 1)
    assert.equal((await troupe("call", "bell/one", "tools/use", "--start", "--module", bell, "--data", data)).code, 0);
  assert.equal((await troupe("guests", "collect", "--data", data)).code, 0);
  assert.equal((await troupe("letters", "--json", "--data", data)).stdout, "");
  const outbox = await troupe("sql", "SELECT id, failures FROM outbox", "--csv", "--data", data);
  assert.equal(outbox.stdout, "id,failures\nm1,0\nm2,0\n");
});

test("a command says what its own actor threw, not what another did meanwhile", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "troupe-unserved-"));
  const data = join(folder.path, "data");
  const module = join(folder.path, "two.ts");
  const thrower = (kind: string, ms: number): string => `
export const ${kind} = actor("${kind}", { description: "A ${kind}.", per: "shared", initial: () => ({}), messages: {
  go: { async work() { await new Promise((done) => setTimeout(done, ${ms})); throw new Error("${kind} broke"); } } } });`;
  writeFileSync(module, `import { actor } from "troupe";${thrower("slow", 500)}${thrower("quick", 0)}`);
  {
    await using store = sqliteStore({ directory: data });
    await store.enqueue(messageTo("quick/main", "m1", { action: "go", args: null, start: null }));
  }
  const called = await troupe("call", "slow/main", "go", "--start", "--module", module, "--data", data);
  assert.equal(called.code, 1);
  assert.match(called.stderr, /It threw Error: slow broke/);
});
