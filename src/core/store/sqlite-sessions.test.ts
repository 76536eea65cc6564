import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { promisify } from "node:util";
import { sessionSuite, streamSuite } from "../../testing/conformance/index.ts";
import { type SessionRow, StoreError } from "../contract/index.ts";
import { memorySessionStore, memoryStreamStore, mendedSessionStores, sqliteSessionStores } from "./index.ts";

function temporary(folder = "sub"): Disposable & { readonly path: string } {
  const directory = mkdtempSync(join(tmpdir(), "troupe-sessions-"));
  return { path: join(directory, folder, "sessions.db"), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

sessionSuite("the memory session store", {
  durable: false,
  place: () => ({ open: memorySessionStore, [Symbol.dispose]: () => undefined }),
});

sessionSuite("the SQLite session store", {
  durable: true,
  place() {
    const { path, [Symbol.dispose]: dispose } = temporary();
    return { open: () => sqliteSessionStores({ path }).sessions, [Symbol.dispose]: dispose };
  },
});

streamSuite("the memory stream store", () => ({ open: memoryStreamStore, [Symbol.dispose]: () => undefined }));

streamSuite("the SQLite stream store", () => {
  const { path, [Symbol.dispose]: dispose } = temporary();
  return { open: (bounds) => sqliteSessionStores({ path, bounds }).streams, [Symbol.dispose]: dispose };
});

test("processes share one session file without losing or repeating a message", async () => {
  using file = temporary();
  const fixture = join(import.meta.dirname, "session-writer.fixture.ts");
  const run = promisify(execFile);
  const outputs = await Promise.all(
    ["a", "b", "c"].map((name) => run(process.execPath, ["--conditions=troupe-source", fixture, file.path, name])),
  );
  const ids = outputs.flatMap(({ stdout }): string[] => JSON.parse(stdout));
  assert.equal(new Set(ids).size, 300);
  await using stores = sqliteSessionStores({ path: file.path });
  assert.equal((await stores.sessions.expire(1_000)).length, 300);
  const all = await stores.streams.after("shared", "1.stream");
  assert.equal(all?.messages.length, 299);
});

test("the event loop runs while many sessions expire, each reported once", async () => {
  using file = temporary();
  await using stores = sqliteSessionStores({ path: file.path });
  const writer = new DatabaseSync(file.path);
  writer.exec(
    "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 6000) INSERT INTO session SELECT 's' || n, n, NULL, NULL FROM n",
  );
  writer.close();
  let rounds = 0;
  const round = (): void => {
    rounds += 1;
    next = setImmediate(round);
  };
  let next = setImmediate(round);
  const expired = await stores.sessions.expire(5_501);
  clearImmediate(next);
  assert.deepEqual([expired.length, new Set(expired).size], [5_500, 5_500]);
  assert.deepEqual(await stores.sessions.expire(5_501), []);
  assert.ok(rounds >= 5, `${rounds} rounds of the event loop`);
});

test("the log of a session file shrinks after a reader has finished", async () => {
  using file = temporary();
  await using stores = sqliteSessionStores({ path: file.path });
  const size = (): number => statSync(`${file.path}-wal`).size;
  const reader = new DatabaseSync(file.path);
  reader.exec("BEGIN; SELECT * FROM session");
  for (let n = 0; n < 12; n += 1) await stores.streams.append("s", `${n}`, "x".repeat(800_000));
  assert.ok(size() > 8_000_000);
  reader.exec("COMMIT");
  reader.close();
  // Every eighth write checks the length of the log.
  for (let n = 0; n < 10; n += 1) await stores.streams.append("s", "small", n);
  assert.ok(size() <= 4_194_304, `${size()}`);
});

test("a file that is not a session store is refused with a reason", async () => {
  using file = temporary();
  const path = join(file.path, "..", "..", "garbage");
  writeFileSync(path, "no database ".repeat(1_000));
  assert.throws(() => sqliteSessionStores({ path }), { name: "StoreError", code: "STORE_CORRUPT" });
  assert.throws(() => sqliteSessionStores({ path: join(path, "below") }), { name: "StoreError", code: "STORE_IO" });
});

test("memory drops the least recently seen session beyond its bound, with its streams", async () => {
  const session = (id: string) => ({ id, protocol: "p", client: {}, capabilities: {}, subscriptions: [], createdAt: 1, seenAt: 1 });
  await using sessions = memorySessionStore({ sessions: 2 });
  for (const id of ["a", "b"]) await sessions.put(session(id));
  await sessions.touch("a", 2);
  await sessions.put(session("c"));
  assert.equal(await sessions.get("b"), undefined);
  assert.deepEqual([(await sessions.get("a"))?.id, (await sessions.get("c"))?.id], ["a", "c"]);
  await using streams = memoryStreamStore({ sessions: 2 });
  const [a, b] = [await streams.append("a", "x", 1), await streams.append("b", "x", 1)];
  await streams.append("a", "x", 2);
  await streams.append("c", "x", 1);
  assert.equal(await streams.after("b", b), undefined);
  assert.equal((await streams.after("a", a))?.messages.length, 1);
});

test("memory drops answered streams first, oldest first, beyond its total bytes", async () => {
  await using streams = memoryStreamStore({ totalBytes: 11_000 });
  const text = "x".repeat(2_000);
  const running = await streams.append("a", "running", text);
  const answers: string[] = [];
  for (let n = 0; n < 4; n += 1) answers.push(await streams.append("b", `reply-${n}`, { id: n, result: text }));
  assert.ok(await streams.after("a", running), "a stream without its answer is dropped last");
  assert.deepEqual(
    (await Promise.all(answers.map((id) => streams.after("b", id)))).map((found) => found !== undefined),
    [false, true, true, true],
  );
  for (let n = 0; n < 1_000; n += 1) await streams.append(`s${n}`, "get", null);
  assert.equal(await streams.after("s0", "1.get"), undefined, "what is nearly empty counts too");
  assert.equal(await streams.after("a", running), undefined);
});

test("a dropped stream that continues uses no event id twice", async () => {
  await using streams = memoryStreamStore({ streams: 1 });
  const [one, two, three] = [await streams.append("s", "a", 1), await streams.append("s", "a", 2), await streams.append("s", "a", 3)];
  await streams.append("s", "b", 1);
  const four = await streams.append("s", "a", 4);
  const five = await streams.append("s", "a", 5);
  assert.equal(new Set([one, two, three, four, five]).size, 5);
  for (const id of [one, two]) assert.equal(await streams.after("s", id), undefined);
  assert.equal((await streams.after("s", three))?.messages.length, 2);
});

test("tasks survive reopening the file until they expire", async () => {
  using file = temporary();
  const row = { id: "a", principal: "ann", description: '{"status":"working"}', over: false, until: 2_000 };
  {
    await using stores = sqliteSessionStores({ path: file.path });
    await stores.taskStore.put(row);
    await stores.taskStore.put({ id: "b", description: "{}", over: true, until: 1_000 });
  }
  await using stores = sqliteSessionStores({ path: file.path });
  assert.deepEqual(await stores.taskStore.get("a"), row);
  assert.deepEqual(await stores.taskStore.get("b"), { id: "b", description: "{}", over: true, until: 1_000 });
  assert.deepEqual(
    (await stores.taskStore.list?.(10))?.map(({ id }) => id),
    ["a", "b"],
  );
  assert.deepEqual(await stores.taskStore.list?.(1), [row]);
  await stores.taskStore.put({ ...row, over: true, until: 3_000 });
  await stores.taskStore.expire(2_000);
  assert.deepEqual(await stores.taskStore.get("a"), { ...row, over: true, until: 3_000 });
  assert.equal(await stores.taskStore.get("b"), undefined);
});

/** Changes the tables of sessions to those of the second schema. */
const TO_VERSION_2 = `
  DROP TABLE session; DROP TABLE session_fixed; DROP TABLE subscription;
  CREATE TABLE session(id TEXT PRIMARY KEY, seen INTEGER NOT NULL, row TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX session_seen ON session(seen)`;

test("sessions of an older file keep their subscriptions and log level", async () => {
  using file = temporary();
  await sqliteSessionStores({ path: file.path })[Symbol.asyncDispose]();
  const plain = { id: "a", protocol: "p", client: { name: "c ☃" }, capabilities: {}, subscriptions: [], createdAt: 1, seenAt: 2 };
  const whole = {
    ...plain,
    id: "b",
    principal: "ann",
    subscriptions: ["x://2", "x://1"],
    logLevel: "debug",
    listener: "node 1",
    seenAt: 5,
  };
  const old = new DatabaseSync(file.path);
  old.exec(`${TO_VERSION_2}; PRAGMA user_version = 2`);
  const insert = old.prepare("INSERT INTO session VALUES(?,?,?)");
  for (const row of [plain, { ...whole, seenAt: 3 }]) insert.run(row.id, row.id === "b" ? 5 : 2, JSON.stringify(row));
  insert.run("damaged", 1, "{");
  old.close();
  await using stores = sqliteSessionStores({ path: file.path });
  assert.deepEqual(await stores.sessions.get("a"), plain);
  assert.deepEqual(await stores.sessions.get("b"), whole);
  await assert.rejects(stores.sessions.get("damaged"), { code: "STORE_CORRUPT" });
  assert.deepEqual(await stores.sessions.expire(2), ["damaged"]);
});

test("a small change of a session with many subscriptions is a small write", async () => {
  using file = temporary();
  await using stores = sqliteSessionStores({ path: file.path });
  const subscriptions = Array.from({ length: 1_000 }, (_, n) => `test://${n}/${"x".repeat(80)}`);
  const client = { name: "x".repeat(60_000) };
  const row = { id: "a", protocol: "p", client, capabilities: {}, subscriptions, createdAt: 1, seenAt: 1 };
  await stores.sessions.put(row);
  const size = (): number => statSync(`${file.path}-wal`).size;
  const written = async (change: () => Promise<unknown> | undefined): Promise<number> => {
    const before = size();
    await change();
    return size() - before;
  };
  // A few pages of 4,096 bytes.
  const few = 5 * 4_200;
  for (const logLevel of ["debug", "emergency", "info"]) {
    const bytes = await written(() => stores.sessions.change?.("a", { logLevel }));
    assert.ok(bytes > 0 && bytes <= few, `${logLevel}: ${bytes}`);
  }
  for (const [name, change] of Object.entries({
    subscribe: { subscribe: "test://another" },
    unsubscribe: { unsubscribe: "test://another" },
    listener: { listener: "node 1" },
  }))
    assert.ok((await written(() => stores.sessions.change?.("a", change))) <= few, name);
  assert.ok((await written(() => stores.sessions.touch("a", 2))) <= few, "touch");
  assert.deepEqual(await stores.sessions.get("a"), { ...row, logLevel: "info", listener: "node 1", seenAt: 2 });
  await stores.sessions.delete("a");
  const left = new DatabaseSync(file.path);
  assert.equal(left.prepare("SELECT count(*) AS n FROM subscription").get()?.["n"], 0);
  assert.equal(left.prepare("SELECT count(*) AS n FROM session_fixed").get()?.["n"], 0);
  left.close();
});

test("a file of the schema without tasks is migrated and keeps its streams", async () => {
  using file = temporary();
  let first = "";
  {
    await using stores = sqliteSessionStores({ path: file.path });
    first = await stores.streams.append("s", "one", { n: 1 });
    await stores.streams.append("s", "one", { n: 2 });
  }
  const old = new DatabaseSync(file.path);
  old.exec(`DROP TABLE task; ${TO_VERSION_2}; PRAGMA user_version = 1`);
  old.close();
  await using stores = sqliteSessionStores({ path: file.path });
  assert.equal(await stores.taskStore.get("a"), undefined);
  assert.equal((await stores.streams.after("s", first))?.messages.length, 1);
});

const paddedSession = (id: string): SessionRow => ({
  id,
  protocol: "2025-11-25",
  client: { padding: "x".repeat(2_000) },
  capabilities: {},
  subscriptions: [],
  createdAt: 1,
  seenAt: 1,
});

test("a file that is not a session store is moved aside and replaced", async () => {
  using place = temporary("");
  writeFileSync(place.path, "no database ".repeat(1_000));
  const reported: string[] = [];
  await using stores = mendedSessionStores({ path: place.path, onDamage: ({ code }, aside) => reported.push(code, aside) });
  assert.deepEqual(reported, ["STORE_CORRUPT", `${place.path}.damaged`]);
  assert.match(readFileSync(`${place.path}.damaged`, "utf8"), /^no database/u);
  await stores.sessions.put(paddedSession("a"));
  assert.equal((await stores.sessions.get("a"))?.id, "a");
});

test("an existing directory at the path for damaged files is replaced", async () => {
  using place = temporary("");
  writeFileSync(place.path, "no database ".repeat(1_000));
  mkdirSync(join(`${place.path}.damaged`, "full"), { recursive: true });
  await using stores = mendedSessionStores({ path: place.path, onDamage: () => undefined });
  assert.equal(await stores.sessions.get("a"), undefined);
  assert.match(readFileSync(`${place.path}.damaged`, "utf8"), /^no database/u);
});

test("damage found later is repaired once, also for concurrent callers", async () => {
  using place = temporary("");
  {
    await using stores = mendedSessionStores({ path: place.path, onDamage: () => assert.fail("it is whole") });
    for (let n = 0; n < 50; n += 1) await stores.sessions.put(paddedSession(`s${n}`));
  }
  // All but the first page, which identifies the file.
  const bytes = readFileSync(place.path);
  bytes.fill(0x5a, 4_096);
  writeFileSync(place.path, bytes);
  let damages = 0;
  await using stores = mendedSessionStores({ path: place.path, onDamage: () => (damages += 1) });
  const found = await Promise.all(Array.from({ length: 10 }, (_, n) => stores.sessions.get(`s${n}`)));
  assert.deepEqual(new Set(found), new Set([undefined]));
  assert.equal(damages, 1);
  await stores.sessions.put(paddedSession("new"));
  assert.equal((await stores.sessions.get("new"))?.id, "new");
  assert.ok(existsSync(`${place.path}.damaged`));
});

test("faults other than damage are thrown: a newer schema, a closed store", async () => {
  using place = temporary("");
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
