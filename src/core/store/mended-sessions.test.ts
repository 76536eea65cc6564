import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type SessionRow, StoreError } from "../contract/index.ts";
import { mendedSessionStores } from "./index.ts";

const temporary = () => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-mended-"));
  return { path: join(directory, "sessions.db"), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
};

const session = (id: string): SessionRow => ({
  id,
  protocol: "2025-11-25",
  client: { padding: "x".repeat(2_000) },
  capabilities: {},
  subscriptions: [],
  createdAt: 1,
  seenAt: 1,
});

test("a file that is no session store is put aside, and a fresh one begun", async () => {
  using place = temporary();
  writeFileSync(place.path, "no database ".repeat(1_000));
  const told: string[] = [];
  await using stores = mendedSessionStores({ path: place.path, onDamage: ({ code }, aside) => told.push(code, aside) });
  assert.deepEqual(told, ["STORE_CORRUPT", `${place.path}.damaged`]);
  assert.match(readFileSync(`${place.path}.damaged`, "utf8"), /^no database/u);
  await stores.sessions.put(session("a"));
  assert.equal((await stores.sessions.get("a"))?.id, "a");
});

test("whatever stands where a damaged file is put aside is no reason not to serve", async () => {
  using place = temporary();
  writeFileSync(place.path, "no database ".repeat(1_000));
  mkdirSync(join(`${place.path}.damaged`, "full"), { recursive: true });
  await using stores = mendedSessionStores({ path: place.path, onDamage: () => undefined });
  assert.equal(await stores.sessions.get("a"), undefined);
  assert.match(readFileSync(`${place.path}.damaged`, "utf8"), /^no database/u);
});

test("damage that shows later is mended too, once, for all who meet it at the same time", async () => {
  using place = temporary();
  {
    await using stores = mendedSessionStores({ path: place.path, onDamage: () => assert.fail("it is whole") });
    for (let n = 0; n < 50; n += 1) await stores.sessions.put(session(`s${n}`));
  }
  // All but the first page, where a file says what it is.
  const bytes = readFileSync(place.path);
  bytes.fill(0x5a, 4_096);
  writeFileSync(place.path, bytes);
  let damages = 0;
  await using stores = mendedSessionStores({ path: place.path, onDamage: () => (damages += 1) });
  const found = await Promise.all(Array.from({ length: 10 }, (_, n) => stores.sessions.get(`s${n}`)));
  assert.deepEqual(new Set(found), new Set([undefined]));
  assert.equal(damages, 1);
  await stores.sessions.put(session("new"));
  assert.equal((await stores.sessions.get("new"))?.id, "new");
  assert.ok(existsSync(`${place.path}.damaged`));
});

test("what is no damage is told: a store of a newer Troupe, a closed one", async () => {
  using place = temporary();
  const stores = mendedSessionStores({ path: place.path, onDamage: () => assert.fail("it is whole") });
  await stores[Symbol.asyncDispose]();
  await assert.rejects(stores.sessions.get("a"), { code: "STORE_CLOSED" });
  const database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(place.path);
  database.exec("PRAGMA user_version = 99");
  database.close();
  const { path } = place;
  assert.throws(
    () => mendedSessionStores({ path, onDamage: () => assert.fail("it is whole") }),
    (error) => error instanceof StoreError && error.code === "STORE_NEWER" && error.message.startsWith(`${path}: `),
  );
});
