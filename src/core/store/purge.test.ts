/** A removed actor leaves nothing in the file, whatever interrupts the removal. */
import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { StoreError } from "../contract/index.ts";
import { until } from "../../testing/index.ts";
import { ChainWriter } from "../../testing/conformance/index.ts";
import { sqliteExporter, sqliteStore, type SqliteOptions } from "./index.ts";

const SECRET = "the-secret-that-was-erased";

class Place {
  readonly path = mkdtempSync(join(tmpdir(), "troupe-remover-"));
  open(more: SqliteOptions = {}): ReturnType<typeof sqliteStore> {
    return sqliteStore({ directory: this.path, ...more });
  }
  /** How many rows there are in the tables that hold parts of actors. */
  rows(...tables: readonly string[]): readonly number[] {
    using database = this.#connect();
    const names = tables.length > 0 ? tables : ["actor", "event", "seek", "gone"];
    return names.map((table) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]));
  }
  change(sql: string): void {
    using database = this.#connect();
    database.exec(sql);
  }
  /** Overwrites the first leaf page of that table with garbage. */
  damage(table: string): void {
    using database = this.#connect();
    const page = database.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path LIMIT 1").get(table);
    const file = openSync(join(this.path, "troupe.db"), "r+");
    writeSync(file, Buffer.alloc(4_096, 0x5a), 0, 4_096, (Number(page?.["pageno"]) - 1) * 4_096);
    closeSync(file);
  }
  holding(text: string): readonly string[] {
    return readdirSync(this.path).filter((name) => readFileSync(join(this.path, name)).includes(text));
  }
  #connect(): DatabaseSync {
    return new (process.getBuiltinModule("node:sqlite").DatabaseSync)(join(this.path, "troupe.db"));
  }
  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** Commits a chain of so many events, all at once, of which the last stops the actor. */
async function ended(
  store: ReturnType<typeof sqliteStore>,
  actor: ChainWriter,
  events: number,
): Promise<{ id: ChainWriter["id"]; head: string }> {
  const entries = Array.from({ length: events - 1 }, (_, n) => actor.next(n % 7 === 3 ? { state: SECRET } : {}));
  entries.push(actor.next({ row: { status: "stopped" } }));
  await Promise.all(entries.map((entry) => store.commit(actor.id, entry)));
  return { id: actor.id, head: actor.head ?? "" };
}

test("a removed actor is no longer in the files or the index of events", async () => {
  using place = new Place();
  await using store = place.open();
  const one = await ended(store, new ChainWriter("door/one"), 700);
  const other = await ended(store, new ChainWriter("door/other"), 3);
  await store.event(one.head);
  assert.deepEqual(place.rows(), [2, 703, 703, 0]);
  assert.notDeepEqual(place.holding(SECRET), []);
  assert.deepEqual(await Promise.all([store.remove(one), store.remove(one)]), [true, false]);
  assert.deepEqual(place.rows(), [1, 3, 3, 0]);
  assert.deepEqual(place.holding(SECRET), []);
  assert.ok(await store.event(other.head));
});

test("an interrupted removal continues when the store is opened next", async () => {
  using place = new Place();
  let writes = Number.POSITIVE_INFINITY;
  const beforeCommit = (): void => {
    writes -= 1;
    if (writes < 0) throw Object.assign(new Error("disk I/O error"), { errcode: 10 });
  };
  {
    await using store = place.open({ beforeCommit });
    const one = await ended(store, new ChainWriter("door/one"), 1_000);
    await ended(store, new ChainWriter("door/other"), 5);
    writes = 2;
    await assert.rejects(store.remove(one), { code: "STORE_IO" });
    assert.equal(await store.load("door/one"), undefined, "it is removed, though events are left");
    const [actors = 0, events = 0, , rest = 0] = place.rows();
    assert.deepEqual([actors, rest], [1, 1]);
    assert.ok(events > 5 && events < 1_005, `${events} events`);
    assert.deepEqual(
      (await store.list({ limit: 9 })).map(({ id }) => id),
      ["door/other"],
    );
  }
  {
    await using exporter = sqliteExporter({ directory: place.path });
    const leaving: string[] = [];
    for await (const { id } of exporter.actors()) leaving.push(id);
    assert.deepEqual(leaving, ["door/other"]);
  }
  await using store = place.open();
  await until("nothing is left of it", () => place.rows()[3] === 0);
  assert.deepEqual(place.rows().slice(0, 2), [1, 5]);
  assert.equal((await store.events("door/other", 0, 10)).length, 5);
});

test("a store closed during a removal leaves the rest to the next opening", async () => {
  using place = new Place();
  let removing: Promise<unknown> | undefined;
  {
    await using store = place.open();
    const one = await ended(store, new ChainWriter("door/one"), 2_000);
    removing = store.remove(one);
    await until("it is removed", async () => (await store.load("door/one")) === undefined);
  }
  assert.equal(await removing, true);
  await using _ = place.open();
  await until("nothing is left of it", () => place.rows()[3] === 0);
  assert.deepEqual(place.rows().slice(0, 2), [0, 0]);
});

test("no event place and no actor id is used twice", async () => {
  using place = new Place();
  const before = new ChainWriter("door/a", "one");
  {
    await using store = place.open();
    const one = await ended(store, before, 10);
    await store.event(one.head);
    await store.remove(one);
  }
  // As if a removal was interrupted before it reached the index.
  place.change("INSERT INTO seek SELECT 123456789012, value FROM meta WHERE name = 'event'");
  await using store = place.open();
  const after = new ChainWriter("door/b", "two");
  await store.commit(after.id, after.next());
  assert.deepEqual(await store.event(after.head ?? ""), after.events[0]);
  assert.equal(await store.event(before.head ?? ""), undefined);
});

test("an unreadable event is removed with the others", async () => {
  using place = new Place();
  {
    await using store = place.open();
    await ended(store, new ChainWriter("door/one"), 10);
  }
  place.change("UPDATE event SET header = x'00' WHERE seq = 4");
  await using store = place.open();
  const [one] = (await store.ended({ before: 1e15, limit: 10 })).ended;
  assert.equal(await store.remove(one ?? assert.fail()), true);
  assert.deepEqual(place.rows(), [0, 0, 0, 0]);
});

test("a chain in a damaged page is given up, and reported", async () => {
  using place = new Place();
  const reported: StoreError[] = [];
  {
    await using store = place.open();
    await ended(store, new ChainWriter("door/one"), 100);
    await ended(store, new ChainWriter("door/other"), 10);
  }
  place.damage("event");
  await using store = place.open({ onDamage: (fault) => reported.push(fault) });
  const { ended: found } = await store.ended({ before: 1e15, limit: 10 });
  assert.equal(found.length, 2);
  for (const one of found) assert.equal(await store.remove(one), true);
  assert.deepEqual(
    reported.map(({ code }) => code),
    ["STORE_CORRUPT"],
  );
  assert.deepEqual([place.rows("actor"), place.rows("gone")], [[0], [0]]);
});
