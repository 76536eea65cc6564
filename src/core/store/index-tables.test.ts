import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ChainWriter } from "../../testing/conformance/index.ts";
import type { IndexColumn, IndexedRow, IndexShape, RowQuery } from "../contract/index.ts";
import { MemoryRows } from "../contract/internal.ts";
import { connect } from "./database.ts";
import { sqliteStore } from "./index.ts";

const SHAPE: IndexShape = { name: "all", kind: "door", fields: ["a", "b"], order: "a", definition: "1" };

const temporary = (): Disposable & { readonly path: string } => {
  const path = mkdtempSync(join(tmpdir(), "troupe-index-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
};

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
    const after = roll(5) === 0 ? undefined : { data: JSON.stringify(columns), columns };
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
