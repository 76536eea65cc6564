import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { ChainWriter } from "../../testing/conformance/index.ts";
import type { ActorId, FoundRows, IndexColumn, IndexedRow, IndexShape, RowQuery, Store } from "../contract/index.ts";
import { MemoryRows, searchTerms } from "../contract/internal.ts";
import { connect } from "./database.ts";
import { sqliteStore } from "./index.ts";

/** Of a row with these columns. */
const membersOf = ([a, b]: readonly IndexColumn[]): string => JSON.stringify({ a, b });

const SHAPE: IndexShape = { name: "all", kind: "door", fields: ["a", "b"], order: "a", definition: "1" };

const temporary = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-index-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

/** How many rows wait to be moved. */
const recentIn = (database: DatabaseSync): number =>
  Number(
    database
      .prepare(
        `SELECT count(*) AS n FROM (
           SELECT max(r.id * 1000 + e.key), json_array_length(e.value) AS length FROM recent_rows r, json_each(r.rows) e
           GROUP BY e.value ->> 0, e.value ->> 1)
         WHERE length > 2`,
      )
      .get()?.["n"],
  );

/** Waits until so few rows wait to be moved. */
async function untilMoved(database: DatabaseSync, store: Store, most: number): Promise<void> {
  for (let writes = 0; writes < 100 && recentIn(database) > most; writes += 1) await store.indexes?.drop("none");
  assert.ok(recentIn(database) <= most, String(recentIn(database)));
}

/** A linear congruential generator: the same numbers each time. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

const VALUES: readonly IndexColumn[] = [null, 0, 1, -1, 2.5, 1e300, "", "a", "ab", "b", "\u{10FFFF}", "\uFFFD", "\uE000", "0", "a\0b", "%"];

test("SQLite and memory answer the same queries of the same rows alike", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const { indexes } = store;
  assert.ok(indexes);
  await indexes.declare(SHAPE);
  await indexes.build("all", () => undefined, 10);
  const memory = new MemoryRows(SHAPE);
  const roll = dice(7);
  const valueOf = (): IndexColumn => VALUES[roll(VALUES.length)] ?? null;
  const actors = Array.from(
    { length: 60 },
    (_, n): { readonly writer: ChainWriter; readonly owner: string; row?: IndexedRow | undefined } => ({
      writer: new ChainWriter(`door/k${n}`),
      owner: n % 2 === 0 ? "ann" : "bob",
    }),
  );
  const query = (): RowQuery => {
    const column = roll(2);
    const text = String(valueOf() ?? "");
    const [one, other] = [valueOf(), valueOf()];
    const bounds = typeof one === typeof other && one !== null && other !== null ? { gte: one, lte: other } : { gte: "a", lte: undefined };
    const condition = [
      [],
      [{ column, in: [one] }],
      [{ column, in: [one, other, valueOf()] }],
      [{ column, prefix: text }],
      [{ column, ...bounds }],
      [
        { column, in: [one] },
        { column: 1 - column, prefix: text },
      ],
    ][roll(6)];
    return {
      conditions: condition ?? [],
      descending: roll(2) === 0,
      limit: 1 + roll(10),
      count: roll(2) === 0,
      ...(roll(2) === 0 ? { after: { value: valueOf(), key: `k${roll(60)}` } } : {}),
      ...(roll(4) === 0 ? { owner: { principal: ["ann", "bob"][roll(2)], key: [undefined, "k1"][roll(2)] } } : {}),
    };
  };
  for (let round = 0; round < 400; round += 1) {
    const actor = actors[roll(actors.length)];
    assert.ok(actor);
    const columns = [valueOf(), valueOf()];
    const after = roll(5) === 0 ? undefined : { data: membersOf(columns), columns };
    const { owner } = actor;
    await store.commit(actor.writer.id, actor.writer.next({ row: { owner }, indexed: [{ index: "all", before: actor.row, after }] }));
    memory.set(actor.writer.id.slice(5), after, owner);
    actor.row = after;
    for (let n = 0; n < 3; n += 1) {
      const wanted = query();
      assert.deepEqual(await indexes.query("all", wanted), memory.query(wanted), JSON.stringify(wanted));
    }
  }
});

test("SQLite and memory answer alike where a condition has many rows", async () => {
  using directory = temporary();
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
  }
  const memory = new MemoryRows(SHAPE);
  const database = connect(join(directory.path, "troupe.db"), {});
  const insert = database.prepare("INSERT INTO index_rows_1(actor, key, owner, data, c0, c1) VALUES(?, ?, ?, ?, ?, ?)");
  const roll = dice(11);
  database.exec("BEGIN");
  for (let n = 1; n <= 12_000; n += 1) {
    const columns = [roll(1_000), n % 3 === 0 ? `few ${roll(3_000)}` : `many ${roll(20)}`];
    const row = { data: membersOf(columns), columns };
    const owner = n % 100 === 0 ? "bob" : "ann";
    insert.run(n, `k${n}`, owner, row.data, ...columns);
    memory.set(`k${n}`, row, owner);
  }
  database.exec("COMMIT");
  database.close();
  await using store = sqliteStore({ directory: directory.path });
  const after = { value: 500, key: "k77" };
  const [many, few] = [{ column: 1, prefix: "many" }, { column: 1, prefix: "few 1" } as const];
  const range = { column: 0, gte: 400, lte: 600 };
  for (const conditions of [[many], [few], [many, range], [few, range], [many, few], [{ column: 1, in: ["many 1", "many 2"] }, many]])
    for (const owner of [undefined, { principal: "ann" }, { principal: "bob" }, { principal: "bob", key: "k1" }])
      for (const descending of [false, true])
        for (const from of [{}, { after }]) {
          const query: RowQuery = { conditions, descending, limit: 20, count: true, ...from, ...(owner === undefined ? {} : { owner }) };
          // The actors of these rows are not in the store, so nobody's own one is.
          const wanted = memory.query(owner?.key === undefined ? query : { ...query, owner: { principal: owner.principal } });
          assert.deepEqual(await store.indexes?.query("all", query), wanted, JSON.stringify(query));
        }
});

test("rows that turns changed last are found like the others, also by a process that only reads", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare({ ...SHAPE, text: ["notes"] });
  await store.indexes?.build("all", () => undefined, 10);
  const memory = new MemoryRows(SHAPE);
  const roll = dice(5);
  const rowOf = (): IndexedRow => {
    const columns = [roll(50), roll(3) === 0 ? null : `b${roll(4)}`];
    return { data: membersOf(columns), columns, text: ` word${roll(3)} all ` };
  };
  const actors = Array.from({ length: 1_500 }, (_, n) => ({ writer: new ChainWriter(`door/k${n}`), owner: n % 2 === 0 ? "ann" : "bob" }));
  const rows = new Map<string, IndexedRow>();
  const change = async (actor: (typeof actors)[number], after: IndexedRow | undefined): Promise<void> => {
    const { writer, owner } = actor;
    const before = rows.get(writer.id);
    memory.set(writer.id.slice(5), after, owner);
    if (after === undefined) rows.delete(writer.id);
    else rows.set(writer.id, after);
    const hasSameText = before !== undefined && before.text === after?.text;
    await store.commit(writer.id, writer.next({ row: { owner }, indexed: [{ index: "all", before, after, hasSameText }] }));
  };
  const compare = async (): Promise<void> => {
    await using reader = sqliteStore({ directory: directory.path, readOnly: true });
    for (const conditions of [[], [{ column: 0, gte: 10, lte: 30 }], [{ column: 1, in: ["b1"] }], [{ column: 1, in: [null, "b2"] }]])
      for (const terms of [{}, { terms: searchTerms("word1") }, { terms: searchTerms("all") }])
        for (const owner of [{}, { owner: { principal: "ann", key: undefined } }])
          for (const descending of [false, true]) {
            const after = roll(2) === 0 ? {} : { after: { value: roll(50), key: `k${roll(1_500)}` } };
            const query: RowQuery = { conditions, descending, limit: 15, count: true, ...terms, ...owner, ...after };
            const wanted = memory.query(query);
            assert.deepEqual(await store.indexes?.query("all", query), wanted, JSON.stringify(query));
            assert.deepEqual(await reader.indexes?.query("all", query), wanted, JSON.stringify(query));
          }
    assert.equal((await store.indexes?.list())?.[0]?.rows, memory.size);
  };
  await Promise.all(actors.map((actor) => change(actor, rowOf())));
  for (const part of [20, 1_500, 1_500, 300]) {
    await Promise.all(actors.slice(0, part).map((actor, n) => change(actor, n % 20 === 19 ? undefined : rowOf())));
    await compare();
  }
  const flaws = async (): Promise<unknown> => (await store.indexes?.verify("all", (id) => rows.get(id), 2_000))?.flaws;
  assert.deepEqual(await flaws(), []);
  using database = connect(join(directory.path, "troupe.db"), { readOnly: true });
  await untilMoved(database, store, 628);
  assert.ok(recentIn(database) > 200);
  // A reader sees one state of the file throughout a read, whatever another process writes meanwhile.
  await using reader = sqliteStore({ directory: directory.path, readOnly: true });
  using writer = connect(join(directory.path, "troupe.db"), {});
  let isChanged = false;
  const rowThen = (id: ActorId): IndexedRow | undefined => {
    if (!isChanged) writer.exec("DELETE FROM recent_rows; UPDATE index_rows_1 SET c1 = 'x'");
    isChanged = true;
    return rows.get(id);
  };
  assert.deepEqual((await reader.indexes?.verify("all", rowThen, 2_000))?.flaws, []);
  assert.ok(isChanged);
});

test("a row that cannot be moved to its index's table fails no turn, and others are moved", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare(SHAPE);
  await store.indexes?.build("all", () => undefined, 10);
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
  const writers = Array.from({ length: 1_600 }, (_, n) => new ChainWriter(`door/${n}`));
  const set = (n: number, before: IndexedRow | undefined): Promise<unknown>[] =>
    writers.map((writer) => store.commit(writer.id, writer.next({ indexed: [{ index: "all", before, after: row(n) }] })));
  await Promise.all(set(1, undefined));
  using database = connect(join(directory.path, "troupe.db"), {});
  // Stands for a page that cannot be read.
  database.exec("CREATE TRIGGER damage BEFORE UPDATE ON index_rows_1 WHEN new.actor < 50 BEGIN SELECT RAISE(ABORT, 'damaged'); END");
  for (const n of [2, 3]) await Promise.all(set(n, row(n - 1)));
  await untilMoved(database, store, 628);
  const found = await store.indexes?.query("all", { conditions: [{ column: 0, in: [3] }], descending: false, limit: 2, count: true });
  assert.equal(found?.count, 1_600);
});

test("a row that was lost has its words again once its actor has a turn", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare({ ...SHAPE, text: ["notes"] });
  await store.indexes?.build("all", () => undefined, 10);
  const actor = new ChainWriter("door/a");
  await store.commit(actor.id, actor.next({ indexed: [] }));
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null], text: " some words " });
  const changed = { index: "all", before: row(1), after: row(2), hasSameText: true };
  await store.commit(actor.id, actor.next({ indexed: [changed] }));
  const query: RowQuery = { conditions: [], terms: searchTerms("words"), descending: false, limit: 10, count: true };
  assert.deepEqual(await store.indexes?.query("all", query), { rows: [{ key: "a", data: '{"a":2}', value: 2 }], count: 1 });
});

test("bodies are erased although an index is damaged", async () => {
  using directory = temporary();
  const path = join(directory.path, "troupe.db");
  const actor = new ChainWriter("door/a");
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
    const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: row(1) }] }));
    await store.commit(actor.id, actor.next({ full: true, indexed: [{ index: "all", before: row(1), after: row(2) }] }));
  }
  {
    using database = connect(path, { readOnly: true });
    const page = Number(database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'index_rows_1_0'").get()?.["rootpage"]);
    const size = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
    const file = readFileSync(path);
    writeFileSync(path, file.fill(0xff, (page - 1) * size, page * size));
  }
  const damage: unknown[] = [];
  await using store = sqliteStore({ directory: directory.path, onDamage: (fault) => void damage.push(fault.code) });
  assert.equal(await store.erase(actor.id, 2), 1);
  assert.deepEqual(damage, ["STORE_CORRUPT"]);
});

test("an index that takes the place of another one has no rows of it", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const actor = new ChainWriter("door/a");
  const [one, other] = [1, 2].map((a): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] }));
  const all: RowQuery = { conditions: [], descending: false, limit: 10, count: true };
  await store.indexes?.declare(SHAPE);
  await store.indexes?.build("all", () => undefined, 10);
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: one }] }));
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before: one, after: other }] }));
  assert.deepEqual((await store.indexes?.query("all", all))?.rows, [{ key: "a", data: '{"a":2}', value: 2 }]);
  await store.indexes?.drop("all");
  await store.indexes?.declare({ ...SHAPE, definition: "2" });
  await store.indexes?.build("all", () => undefined, 10);
  assert.deepEqual(await store.indexes?.query("all", all), { rows: [], count: 0 });
});

test("words and members that left a row are not in the file once bodies are erased", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare({ ...SHAPE, text: ["notes"] });
  await store.indexes?.build("all", () => undefined, 10);
  const holding = (): readonly string[] =>
    readdirSync(directory.path).filter((name) => readFileSync(join(directory.path, name)).includes("xsecretx"));
  for (const key of ["a", "b", "c"]) {
    const actor = new ChainWriter(`door/${key}`);
    const row = (words: string): IndexedRow => ({ data: JSON.stringify({ a: words }), columns: [words, null], text: words });
    const [secret, other] = [row(` the xsecretx ${key} `), row(" other ")];
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: secret }] }));
    assert.notDeepEqual(holding(), []);
    const after = key === "a" ? undefined : other;
    await store.commit(actor.id, actor.next({ full: true, indexed: [{ index: "all", before: secret, after }] }));
    assert.equal(await store.erase(actor.id, 2), 1);
    assert.deepEqual(holding(), [], key);
  }
  // A long value is in pages of its own.
  const long = new ChainWriter("door/e");
  const value = `xsecretx${"y".repeat(5_000)}`;
  const added: IndexedRow = { data: JSON.stringify({ a: value }), columns: [value, null], text: ` ${value} ` };
  await store.commit(long.id, long.next({ indexed: [{ index: "all", after: added }] }));
  await store.commit(long.id, long.next({ full: true, indexed: [{ index: "all", before: added }] }));
  assert.equal(await store.erase(long.id, 2), 1);
  assert.deepEqual(holding(), [], "a long value");
  // Two turns changed the row since it was written to the index's table.
  const actor = new ChainWriter("door/d");
  const row = (words: string): IndexedRow => ({ data: JSON.stringify({ a: words }), columns: [words, null], text: words });
  const [before, secret, after] = [row(" before "), row(" the xsecretx d "), row(" after ")];
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: before }] }));
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before, after: secret }] }));
  assert.notDeepEqual(holding(), []);
  await store.commit(actor.id, actor.next({ full: true, indexed: [{ index: "all", before: secret, after }] }));
  assert.equal(await store.erase(actor.id, 3), 2);
  assert.deepEqual(holding(), []);
});

test("where rows changed last cannot be read, all indexes are built again", async () => {
  using directory = temporary();
  const actor = new ChainWriter("door/a");
  const [before, after] = [1, 2].map((a): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] }));
  const other: IndexShape = { ...SHAPE, name: "other" };
  const query: RowQuery = { conditions: [], descending: false, limit: 10, count: true };
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const shape of [SHAPE, other]) {
      await store.indexes?.declare(shape);
      await store.indexes?.build(shape.name, () => undefined, 10);
    }
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: before }] }));
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before, after }] }));
    assert.equal((await store.indexes?.query("all", query))?.count, 1);
  }
  using database = connect(join(directory.path, "troupe.db"), {});
  for (const rows of ["[[1,1,", "[[1,1,2,3]]", "7", "[7]"]) {
    database.prepare("UPDATE recent_rows SET rows = ?").run(rows);
    await using reader = sqliteStore({ directory: directory.path, readOnly: true });
    assert.equal(await reader.indexes?.query("all", query), undefined, rows);
    assert.deepEqual(
      (await reader.indexes?.list())?.map(({ state }) => state),
      ["building", "building"],
      rows,
    );
  }
  await using store = sqliteStore({ directory: directory.path });
  assert.equal(await store.indexes?.declare(SHAPE), false);
  assert.equal(await store.indexes?.declare(other), false);
  await store.indexes?.build("all", () => after, 10);
  assert.deepEqual((await store.indexes?.query("all", query))?.rows, [{ key: "a", data: '{"a":2}', value: 2 }]);
});

test("rows changed last that an earlier version has written are read, and moved to the table", async () => {
  using directory = temporary();
  const actor = new ChainWriter("door/a");
  const [before, after] = [1, 2].map((a): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] }));
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: before }] }));
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before, after }] }));
  }
  {
    using database = connect(join(directory.path, "troupe.db"), {});
    const { rows } = database.prepare("SELECT rows FROM recent_rows").get() ?? {};
    assert.equal(rows, '[[1,1,"a",null,{"a":2}]]');
    database.prepare("UPDATE recent_rows SET rows = ?").run('[[1,1,"a",null,"{\\"a\\":2}",2,null]]');
  }
  await using store = sqliteStore({ directory: directory.path });
  assert.deepEqual((await store.indexes?.verify("all", () => after, 10))?.flaws, []);
  const query: RowQuery = { conditions: [{ column: 0, in: [2] }], descending: false, limit: 10, count: true };
  assert.deepEqual(await store.indexes?.query("all", query), { rows: [{ key: "a", data: '{"a":2}', value: 2 }], count: 1 });
  await store.commit(actor.id, actor.next({ full: true, indexed: [{ index: "all", before: after, after: before }] }));
  assert.equal(await store.erase(actor.id, 3), 2);
  assert.deepEqual((await store.indexes?.verify("all", () => before, 10))?.flaws, []);
});

test("rows that a restart has left to be moved stay in the file, although bodies of two kinds are erased at once", async () => {
  using directory = temporary();
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
  const shapes = ["door", "lamp"].map((kind): IndexShape => ({ ...SHAPE, name: kind, kind }));
  const found = async (store: Store): Promise<readonly (number | undefined)[]> => {
    const query: RowQuery = { conditions: [{ column: 0, in: [2] }], descending: false, limit: 1, count: true };
    return Promise.all(shapes.map(async ({ name }) => (await store.indexes?.query(name, query))?.count));
  };
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const shape of shapes) {
      await store.indexes?.declare(shape);
      await store.indexes?.build(shape.name, () => undefined, 10);
    }
    for (const id of ["door/a", "lamp/b", "lamp/c"] as const) {
      const writer = new ChainWriter(id);
      const [index = ""] = id.split("/");
      await store.commit(id, writer.next({ indexed: [{ index, after: row(1) }] }));
      await store.commit(id, writer.next({ full: true, indexed: [{ index, before: row(1), after: row(2) }] }));
    }
  }
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const shape of shapes) await store.indexes?.declare(shape);
    await Promise.all([store.erase("door/a", 2), store.erase("lamp/b", 2)]);
    assert.deepEqual(await found(store), [1, 2]);
  }
  await using store = sqliteStore({ directory: directory.path, readOnly: true });
  assert.deepEqual(await found(store), [1, 2]);
});

test("pages of an index are read in its order, without sorting", async () => {
  using directory = temporary();
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
  }
  const database = connect(join(directory.path, "troupe.db"), { readOnly: true });
  const plan = (sql: string): string =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail))
      .join("; ");
  const page = (where: string, direction: "ASC" | "DESC" = "ASC"): string =>
    `SELECT key, data, c0 AS value FROM index_rows_1${where} ORDER BY c0 ${direction}, key ${direction} LIMIT 101`;
  for (const sql of [
    page(""),
    page(" WHERE (c0, key) > (5, 'k')"),
    page(" WHERE (c0, key) < (5, 'k')", "DESC"),
    page(" WHERE c1 = 5"),
    page(" WHERE c1 = 5 AND (c0, key) > (5, 'k')"),
    page(" WHERE c0 >= 5 AND c0 < ''"),
    page(" WHERE owner = 'ann' AND (c0, key) > (5, 'k')"),
  ])
    assert.doesNotMatch(plan(sql), /TEMP B-TREE/u, sql);
  for (const where of [" WHERE c1 = 5", " WHERE owner = 'ann'", " WHERE (c0, key) > (5, 'k')"])
    assert.match(plan(page(where)), /^SEARCH/u, where);
  database.close();
});

test("verification finds a row whose key, owner, members or order was changed, and rows of no actor", async () => {
  using directory = temporary();
  const [before, after] = [2, 1].map((a) => ({ data: `{"a":${a},"b":2}`, columns: [a, 2] }));
  const door = new ChainWriter("door/x");
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
    await store.commit(door.id, door.next({ indexed: [{ index: "all", after: before }] }));
    await store.commit(door.id, door.next({ indexed: [{ index: "all", before, after }] }));
    assert.deepEqual((await store.indexes?.verify("all", () => after, 10))?.flaws, []);
    using database = connect(join(directory.path, "troupe.db"), {});
    database.exec("UPDATE recent_rows SET rows = json_set(rows, '$[0][4].b', 3)");
    assert.deepEqual((await store.indexes?.verify("all", () => after, 10))?.flaws, [{ id: "door/x", flaw: "different" }]);
    database.exec("UPDATE recent_rows SET rows = json_set(rows, '$[0][1]', 9)");
    assert.equal((await store.indexes?.verify("all", () => after, 10))?.flaws.length, 2);
    await store.indexes?.build("all", () => after, 10);
  }
  const found: string[] = [];
  for (const change of [
    "SET key = 'y'",
    "SET owner = 'eve'",
    "SET data = '{}'",
    "SET c0 = 9007199254740993",
    "SET c1 = '2'",
    "SET actor = 9",
    "SET c0 = c0",
  ]) {
    {
      using database = connect(join(directory.path, "troupe.db"), {});
      database.exec(`SAVEPOINT s; UPDATE index_rows_1 ${change}`);
      database.exec("RELEASE s");
    }
    await using store = sqliteStore({ directory: directory.path });
    const verdict = await store.indexes?.verify("all", () => after, 10);
    found.push(`${change}: ${verdict?.flaws.map(({ id, flaw }) => `${id} ${flaw}`).join(", ")}`);
    await store.indexes?.build("all", () => after, 10);
  }
  assert.deepEqual(found, [
    "SET key = 'y': door/x different",
    "SET owner = 'eve': door/x different",
    "SET data = '{}': door/x different",
    "SET c0 = 9007199254740993: door/x different",
    "SET c1 = '2': door/x different",
    "SET actor = 9: door/x missing, door/x unexpected",
    "SET c0 = c0: ",
  ]);
});

test("an index whose stored shape was changed is built anew", async () => {
  using directory = temporary();
  for (const change of [
    "kind = 'gate'",
    "ordering = 'b'",
    "ordering = NULL",
    `fields = '["a"]'`,
    `fields = '["a","b","c"]'`,
    `fields = '{'`,
    "searched = ''",
    "state = 'x'",
  ]) {
    {
      await using store = sqliteStore({ directory: directory.path });
      await store.indexes?.declare(SHAPE);
      await store.indexes?.build("all", () => undefined, 10);
    }
    {
      using database = connect(join(directory.path, "troupe.db"), {});
      database.exec(`UPDATE content_index SET ${change}`);
    }
    await using store = sqliteStore({ directory: directory.path });
    assert.equal(await store.indexes?.declare(SHAPE), false, change);
    await store.indexes?.build("all", () => undefined, 10);
    assert.deepEqual(await store.indexes?.list(), [{ ...SHAPE, state: "complete", rows: 0 }], change);
  }
});

test("a damaged table of rows changed last is replaced, and does not stop a server", async () => {
  using directory = temporary();
  const path = join(directory.path, "troupe.db");
  const actor = new ChainWriter("door/a");
  const [before, after] = [1, 2].map((a): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] }));
  const query: RowQuery = { conditions: [], descending: false, limit: 10, count: true };
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: before }] }));
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before, after }] }));
  }
  {
    using database = connect(path, { readOnly: true });
    const page = Number(database.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'recent_rows'").get()?.["rootpage"]);
    const size = Number(database.prepare("PRAGMA page_size").get()?.["page_size"]);
    const file = readFileSync(path);
    writeFileSync(path, file.fill(0xff, (page - 1) * size, page * size));
  }
  await using store = sqliteStore({ directory: directory.path });
  assert.equal(await store.indexes?.declare(SHAPE), false);
  await store.indexes?.build("all", () => after, 10);
  assert.equal((await store.indexes?.query("all", query))?.count, 1);
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", before: after, after: before }] }));
  assert.deepEqual((await store.indexes?.query("all", query))?.rows, [{ key: "a", data: '{"a":1}', value: 1 }]);
});

test("rows changed last of one index stay when another one is made, changed, removed or erased from", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  const { indexes } = store;
  assert.ok(indexes);
  await indexes.declare(SHAPE);
  await indexes.build("all", () => undefined, 10);
  const actor = new ChainWriter("door/a");
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
  const query: RowQuery = { conditions: [], descending: false, limit: 10, count: true };
  const turn = (n: number): Promise<unknown> =>
    store.commit(actor.id, actor.next({ full: true, indexed: [{ index: "all", before: row(n - 1), after: row(n) }] }));
  await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: row(0) }] }));
  const other: IndexShape = { ...SHAPE, name: "other" };
  for (const [n, change] of [
    () => indexes.declare(other),
    () => indexes.declare({ ...other, definition: "2" }),
    () => indexes.build("other", () => undefined, 10),
    () => indexes.drop("other"),
    () => store.erase(actor.id, 2),
  ].entries()) {
    await Promise.all([turn(n + 1), change()]);
    for (const when of ["now", "after a restart"]) {
      await using reader = sqliteStore({ directory: directory.path, readOnly: true });
      const found: FoundRows | undefined = await (when === "now" ? indexes : reader.indexes)?.query("all", query);
      assert.deepEqual(found?.rows, [{ key: "a", data: `{"a":${n + 1}}`, value: n + 1 }], `${n} ${when}`);
    }
  }
});

test("rows changed last stay few under load, and a store can be closed meanwhile", async () => {
  using directory = temporary();
  using database = connect(join(directory.path, "troupe.db"), {});
  const shapes = Array.from({ length: 6 }, (_, n): IndexShape => ({ ...SHAPE, name: `index-${n}` }));
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
  const writers = Array.from({ length: 2_000 }, (_, n) => new ChainWriter(`door/${n}`));
  {
    await using store = sqliteStore({ directory: directory.path });
    for (const shape of shapes) {
      await store.indexes?.declare(shape);
      await store.indexes?.build(shape.name, () => undefined, 10);
    }
    const set = (n: number, before: IndexedRow | undefined, some: readonly ChainWriter[]): Promise<unknown> =>
      Promise.all(
        some.map((one) => store.commit(one.id, one.next({ indexed: shapes.map(({ name }) => ({ index: name, before, after: row(n) })) }))),
      );
    await set(0, undefined, writers);
    let most = 0;
    for (let n = 1; n <= 2; n += 1)
      for (let from = 0; from < writers.length; from += 200) {
        await set(n, row(n - 1), writers.slice(from, from + 200));
        most = Math.max(most, recentIn(database));
      }
    // A transaction adds 1,200 to six indexes.
    assert.ok(most <= 6 * 628 + 2 * 1_200, String(most));
    // Stands for a page that cannot be read, while the store is closed.
    database.exec("CREATE TRIGGER damage BEFORE UPDATE ON index_rows_1 BEGIN SELECT RAISE(ABORT, 'damaged'); END");
    await set(3, row(2), writers);
  }
  await using reader = sqliteStore({ directory: directory.path, readOnly: true });
  const query: RowQuery = { conditions: [{ column: 0, in: [3] }], descending: false, limit: 1, count: true };
  for (const { name } of shapes) assert.equal((await reader.indexes?.query(name, query))?.count, 2_000, name);
});

test("rows that are lost while their index is built are computed again", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare(SHAPE);
  const row = (a: number): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] });
  const writers = ["a", "b", "c"].map((key) => new ChainWriter(`door/${key}`));
  for (const one of writers) await store.commit(one.id, one.next({ indexed: [] }));
  const query: RowQuery = { conditions: [{ column: 0, in: [2] }], descending: false, limit: 10, count: true };
  const { next } = (await store.indexes?.build("all", () => row(1), 1)) ?? {};
  const [first] = writers;
  assert.ok(first !== undefined && next !== undefined);
  await store.commit(first.id, first.next({ full: true, indexed: [{ index: "all", before: row(1), after: row(2) }] }));
  using database = connect(join(directory.path, "troupe.db"), {});
  database.exec("UPDATE recent_rows SET rows = 'x'");
  await store.indexes?.verify("all", () => row(2), 1);
  await store.erase(first.id, 2);
  await store.indexes?.build("all", () => row(2), 10, next);
  assert.equal(await store.indexes?.query("all", query), undefined);
  await store.indexes?.build("all", () => row(2), 10);
  assert.equal((await store.indexes?.query("all", query))?.count, 3);
});

test("large rows that turns changed last are moved before they fill the memory", async () => {
  using directory = temporary();
  await using store = sqliteStore({ directory: directory.path });
  await store.indexes?.declare(SHAPE);
  await store.indexes?.build("all", () => undefined, 10);
  using database = connect(join(directory.path, "troupe.db"), {});
  const row = (a: number): IndexedRow => ({ data: JSON.stringify({ a, long: "z".repeat(30_000) }), columns: [a, null] });
  const writers = Array.from({ length: 60 }, (_, n) => new ChainWriter(`door/${n}`));
  for (let n = 0; n < 4; n += 1)
    await Promise.all(
      writers.map((one) =>
        store.commit(one.id, one.next({ indexed: [{ index: "all", before: n === 0 ? undefined : row(n - 1), after: row(n) }] })),
      ),
    );
  await untilMoved(database, store, 16);
  assert.ok(Number(database.prepare("SELECT sum(length(rows)) AS n FROM recent_rows").get()?.["n"] ?? 0) < 600_000);
  const query: RowQuery = { conditions: [{ column: 0, in: [3] }], descending: false, limit: 1, count: true };
  assert.equal((await store.indexes?.query("all", query))?.count, 60);
});

test("a store of schema version 8, with rows changed last in columns, opens, and its indexes are built again", async () => {
  using directory = temporary();
  const actor = new ChainWriter("door/a");
  const [before, after] = [1, 2].map((a): IndexedRow => ({ data: `{"a":${a}}`, columns: [a, null] }));
  {
    await using store = sqliteStore({ directory: directory.path });
    await store.indexes?.declare(SHAPE);
    await store.indexes?.build("all", () => undefined, 10);
    await store.commit(actor.id, actor.next({ indexed: [{ index: "all", after: before }] }));
  }
  {
    using database = connect(join(directory.path, "troupe.db"), {});
    const columns = Array.from({ length: 16 }, (_, n) => `c${n}`).join(", ");
    database.exec(
      `DROP TABLE recent_rows; DROP INDEX actor_owner_live;
       CREATE TABLE recent_row(content INTEGER NOT NULL, actor INTEGER NOT NULL, key TEXT NOT NULL, owner TEXT, data TEXT NOT NULL,
         ${columns}, PRIMARY KEY(content, actor)) WITHOUT ROWID;
       INSERT INTO recent_row(content, actor, key, data, c0) VALUES(1, 1, 'a', '{"a":2}', 2);
       PRAGMA user_version = 8`,
    );
  }
  await using store = sqliteStore({ directory: directory.path });
  assert.equal(await store.indexes?.declare(SHAPE), false);
  await store.indexes?.build("all", () => after, 10);
  const query: RowQuery = { conditions: [], descending: false, limit: 10, count: true };
  assert.deepEqual((await store.indexes?.query("all", query))?.rows, [{ key: "a", data: '{"a":2}', value: 2 }]);
});
