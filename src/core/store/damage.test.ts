/** Damaged pages and bits in the file: only requests that read them fail. */
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { ActorId, StoreError } from "../contract/index.ts";
import { writeDump } from "../chain/index.ts";
import { LocalEngine } from "../engine/index.ts";
import { SimulatedClock } from "../../testing/index.ts";
import { tallyKind, ChainWriter, messageTo } from "../../testing/conformance/index.ts";
import { checkFile, sqliteExporter, sqliteStore } from "./index.ts";

const DAY_MS = 86_400_000;
const PAGE = 4_096;

function temporary(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "troupe-page-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Overwrites the first leaf page of that table or index with garbage. */
function damage(directory: string, name: string): void {
  const path = join(directory, "troupe.db");
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path);
  const page = database.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path LIMIT 1").get(name)?.[
    "pageno"
  ];
  database.close();
  assert.ok(typeof page === "number", `${name} has no leaf`);
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(PAGE, 0x5a), 0, PAGE, (page - 1) * PAGE);
  closeSync(file);
}

const writersOf = (...ids: readonly ActorId[]): readonly ChainWriter[] => ids.map((id) => new ChainWriter(id));

test("C6 a write that meets a damaged page fails alone", async () => {
  using directory = temporary();
  const writers = writersOf("door/a", "door/b", "door/c");
  const [a, b, c] = writers;
  assert.ok(a && b && c);
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const one of writers) await store.commit(one.id, one.next());
  }
  damage(directory.path, "actor_stopped");
  await using store = sqliteStore({ directory: directory.path });
  const ends = await Promise.allSettled([
    store.commit(a.id, a.next()),
    store.commit(b.id, b.next({ row: { status: "stopped" } })),
    store.commit(c.id, c.next()),
  ]);
  assert.deepEqual(
    ends.map((end) => (end.status === "fulfilled" ? "committed" : end.reason.code)),
    ["committed", "STORE_CORRUPT", "committed"],
  );
  assert.deepEqual(await Promise.all(writers.map(async ({ id }) => (await store.load(id))?.seq)), [2, 1, 2]);
});

test("C4 a damaged page of expired replies fails no turn and is reported once", async () => {
  using directory = temporary();
  const clock = new SimulatedClock();
  const [a] = writersOf("door/a");
  assert.ok(a);
  const reply = { ok: null };
  const keyed = (n: number) => ({ key: `key ${n}`, call: "", reply, until: clock.now() + DAY_MS });
  {
    await using store = sqliteStore({ directory: directory.path, clock });
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => store.commit(a.id, a.next({ remember: keyed(n) }))));
  }
  damage(directory.path, "remembered_until");
  await clock.advance(2 * DAY_MS);
  const reported: StoreError[] = [];
  await using store = sqliteStore({ directory: directory.path, clock, onDamage: (fault) => reported.push(fault) });
  for (let n = 1_000; n < 1_010; n += 1) {
    await store.commit(a.id, a.next({ remember: keyed(n) }));
    await clock.advance(2_000);
  }
  assert.deepEqual(await store.remembered(a.id, "key 1009"), { call: "", reply });
  assert.deepEqual(
    reported.map(({ code }) => code),
    ["STORE_CORRUPT"],
  );
});

test("a number beyond what JavaScript can read is reported as damage, not as a failing disk", async () => {
  using directory = temporary();
  const [one] = writersOf("door/a");
  assert.ok(one);
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.commit(one.id, one.next());
  }
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory.path, "troupe.db"));
  database.exec("UPDATE actor SET version = 9007199254740993");
  database.close();
  await using store = sqliteStore({ directory: directory.path });
  await assert.rejects(store.load(one.id), { code: "STORE_CORRUPT", message: /a number is larger than any that is written/ });
});

test("actors in a damaged page are named, and all others are listed", async () => {
  using directory = temporary();
  const keys = Array.from({ length: 40 }, (_, n) => `k${String(n).padStart(2, "0")}`);
  const ids = keys.map((key): ActorId => `door/${key}`);
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const one of writersOf(...ids))
      await store.commit(one.id, one.next({ row: { wakes: { w: { at: 1, action: "x".repeat(300) } } } }));
  }
  damage(directory.path, "actor");
  await using store = sqliteStore({ directory: directory.path, readOnly: true });
  await assert.rejects(store.list({ limit: 100 }), { code: "STORE_CORRUPT" });
  const listed: ActorId[] = [];
  const lost: (ActorId | undefined)[] = [];
  for (let after: ActorId | undefined; ;) {
    const query = { limit: 7, ...(after === undefined ? {} : { after }) };
    const page = await store.list(query, ({ code }, id) => lost.push(code === "STORE_CORRUPT" ? id : undefined));
    listed.push(...page.map(({ id }) => id));
    after = page.at(-1)?.id;
    if (page.length < 7) break;
  }
  assert.ok(lost.length > 3 && listed.length > 10, `${lost.length} lost, ${listed.length} listed`);
  assert.deepEqual(new Set([...lost, ...listed]), new Set(ids));
  assert.equal(lost.length + listed.length, ids.length);
  assert.equal((await store.list({ kind: "door", live: true, limit: 100 }, () => undefined)).length, listed.length);
});

test("an export that meets a damaged page names the actor or the kind of data", async () => {
  for (const [name, message] of [
    ["actor", /the row of door\/k\d\d cannot be read/],
    ["event", /^door\/k\d\d, after event \d+: /],
    ["remembered", /^door\/k\d\d, after event 2: /],
    ["outbox", /some of the messages that wait cannot be read/],
    ["letter", /some of the dead letters cannot be read/],
  ] as const) {
    using directory = temporary();
    {
      await using store = sqliteStore({ directory: directory.path });
      await using engine = await LocalEngine.start({ kinds: [tallyKind("door", { persistence: "disk" })], store });
      for (let n = 0; n < 40; n += 1) {
        const to: ActorId = `door/k${String(n).padStart(2, "0")}`;
        await engine.call({ to, action: "note", args: { text: "x".repeat(300) }, start: null }, { key: `k${n}` });
        await engine.call({ to, action: "wake", args: { name: "w".repeat(200), at: 9e12 } });
        for (const prefix of ["m", "l"]) await store.enqueue({ ...messageTo(to, `${prefix}${n}`), action: "x".repeat(300) });
        await store.settle(`l${n}`, "dead");
      }
    }
    damage(directory.path, name);
    const exporter = sqliteExporter({ directory: directory.path });
    await assert.rejects(
      async () => {
        await using from = exporter;
        for await (const _ of writeDump(from));
      },
      (error: StoreError) => {
        assert.equal(error.code, "STORE_CORRUPT");
        assert.match(error.message, message, name);
        return true;
      },
    );
  }
});

const INDEX_LEAF = 0x0a;

test("a flipped bit in the index of names never returns another actor's row", async () => {
  using place = temporary();
  const directory = place.path;
  {
    await using store = sqliteStore({ directory });
    const alice = new ChainWriter("door/alice");
    await store.commit(alice.id, alice.next());
  }
  const file = join(directory, "troupe.db");
  const bytes = readFileSync(file);
  for (let page = 1; page * PAGE < bytes.length; page += 1) {
    const at = bytes.subarray(0, (page + 1) * PAGE).indexOf("dooralice", page * PAGE);
    // Changes "alice" to "alicd".
    if (at >= 0 && bytes[page * PAGE] === INDEX_LEAF) bytes[at + 8] = "d".charCodeAt(0);
  }
  writeFileSync(file, bytes);
  for (const readOnly of [false, true]) {
    await using store = sqliteStore({ directory, readOnly });
    await assert.rejects(store.load("door/alicd"), { code: "STORE_CORRUPT", message: /is another's/u });
  }
});

test("an event whose link leads to itself or a later one is missing its past, and no reader walks in a circle", async () => {
  using place = temporary();
  const directory = place.path;
  const door = new ChainWriter("door/a");
  {
    await using store = sqliteStore({ directory });
    for (let n = 0; n < 5; n += 1) await store.commit(door.id, door.next());
  }
  for (const prev of [2, 4]) {
    const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
    assert.equal(database.prepare("UPDATE event SET prev = ? WHERE pos = 2").run(prev).changes, 1);
    database.close();
    await using store = sqliteStore({ directory });
    await assert.rejects(store.load(door.id), { code: "STORE_CORRUPT" });
    await assert.rejects(store.events(door.id, 0, 5), { code: "STORE_CORRUPT" });
  }
});

test("events that no chain leads to are found: an actor's row was deleted, or put back to an earlier event", async () => {
  using place = temporary();
  const directory = place.path;
  const [door, room, hall] = [new ChainWriter("door/a"), new ChainWriter("room/a"), new ChainWriter("hall/a")];
  {
    await using store = sqliteStore({ directory });
    for (let n = 0; n < 3; n += 1) for (const one of [door, room, hall]) await store.commit(one.id, one.next());
  }
  assert.deepEqual(checkFile({ directory }), []);
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  const { pk } = database.prepare("SELECT id AS pk FROM actor WHERE kind = 'door'").get() ?? {};
  assert.equal(database.prepare("DELETE FROM actor WHERE kind = 'door'").run().changes, 1);
  const back = "(SELECT pos FROM event WHERE event.actor = actor.id AND event.seq = 1)";
  assert.equal(database.prepare(`UPDATE actor SET seq = 1, pos = ${back}, full = ${back} WHERE kind = 'room'`).run().changes, 1);
  assert.deepEqual(checkFile({ directory }).toSorted(), [
    "2 events of room/a that its chain does not lead to: its row was put back to an earlier event.",
    `3 events of actor number ${String(pk)}, whose row is missing: it was deleted, or its chain was damaged when it was pruned. An export leaves them out.`,
  ]);
  // A removal that was cut short goes on when the store is opened.
  database.exec(`INSERT INTO gone SELECT max(pos) FROM event WHERE actor = ${String(pk)}`);
  database.close();
  assert.match(checkFile({ directory }).join("\n"), /^2 events of room\/a .+$/);
  // Its next turn does not hide them.
  const again = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(directory, "troupe.db"));
  again.exec(
    `INSERT INTO event(pos, actor, seq, id, header) SELECT (SELECT max(pos) + 1 FROM event), id, 2, 'x', 'x' FROM actor WHERE kind = 'room';
     UPDATE actor SET seq = 2, pos = (SELECT max(pos) FROM event) WHERE kind = 'room'`,
  );
  again.close();
  assert.match(checkFile({ directory }).join("\n"), /^2 events of room\/a .+$/);
});
