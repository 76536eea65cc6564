// Commands and servers that meet on one data directory: what takes only a moment is waited for.
import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sqliteStore } from "troupe/store";
import { running, troupe } from "./run.ts";

const COUNTER = "examples/counter-disk";
const folder = () => mkdtempDisposableSync(join(tmpdir(), "troupe-held-"));

/** Holds the store in `data`, and gives it up after a moment. */
const held = (data: string): Promise<void> => {
  const store = sqliteStore({ directory: data });
  return new Promise((settle) => {
    setTimeout(() => void store[Symbol.asyncDispose]().then(settle), 2_500);
  });
};

test("a command waits for a store that another process holds for a moment", async () => {
  using place = folder();
  const free = held(place.path);
  const ran = await troupe("call", "counter/main", "tools/add", "--start", "--module", COUNTER, "--data", place.path, "--json");
  await free;
  assert.equal(ran.code, 0, ran.stderr);
  assert.match(ran.stdout, /"ok"/);
});

for (const command of [["prune", "--ended-before", "1d"], ["import"], ["guests", "collect"]])
  test(`troupe ${command.join(" ")} waits for a store that is held for a moment, too`, async () => {
    using place = folder();
    await sqliteStore({ directory: place.path })[Symbol.asyncDispose]();
    const dump = join(place.path, "all.jsonl");
    assert.equal((await troupe("export", dump, "--data", place.path)).code, 0);
    const free = held(place.path);
    const ran = await troupe(...command, ...(command[0] === "import" ? [dump] : []), "--data", place.path, "--json");
    await free;
    assert.equal(ran.code, 0, ran.stderr);
  });

test("a server waits for a store that another process holds for a moment", async () => {
  using place = folder();
  const free = held(place.path);
  await using server = running("serve", COUNTER, "--http", "0", "--data", place.path);
  await server.said(/is served/);
  await free;
});

test("a command that waited for a store in vain says who has it", async () => {
  using place = folder();
  await using _ = sqliteStore({ directory: place.path });
  const ran = await troupe("call", "counter/main", "tools/add", "--start", "--module", COUNTER, "--data", place.path, "--json");
  assert.equal(ran.code, 6, ran.stderr);
  assert.match(ran.stderr, new RegExp(`STORE_LOCKED.*process ${process.pid}`));
});
