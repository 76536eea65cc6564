// Owns: the tests of every store with indexes. Does not own: those of engines (engine-index-suite.ts).
import assert from "node:assert/strict";
import type { ActorId, FoundRows, IndexedRow, IndexShape, IndexStore, RowOf, RowQuery, Store } from "../../core/contract/index.ts";
import { searchableText, searchTerms } from "../../core/contract/internal.ts";
import { ChainWriter } from "./store-entries.ts";
import type { StoreSuiteOptions } from "./store-stage.ts";

const SHAPE: IndexShape = { name: "open", kind: "door", fields: ["title", "rank"], order: "rank", definition: "1" };
const ALL: RowQuery = { conditions: [], descending: false, limit: 1_000, count: false };
const CLOCK = { now: () => 10_000, after: () => () => undefined };

const row = (title: string | null, rank: string | number | null): IndexedRow => ({
  data: JSON.stringify({ title, rank }),
  columns: [title, rank],
});

const indexesOf = ({ indexes }: Store): IndexStore => {
  assert.ok(indexes, "the store has indexes");
  return indexes;
};

/** Rows of the states that `ChainWriter` writes: `{ n }`. */
const byCount: RowOf = (_, { seq }) => row(null, seq);

/** All actors of a kind, in pages of this size. */
async function built(indexes: IndexStore, rowOf: RowOf, limit = 100): Promise<number> {
  let actors = 0;
  for (let after: ActorId | undefined; ;) {
    const page = await indexes.build("open", rowOf, limit, after);
    actors += page.actors;
    after = page.next;
    if (after === undefined) return actors;
  }
}

const keysOf = (found: FoundRows | undefined): readonly string[] | undefined => found?.rows.map(({ key }) => key);

/** Registers the tests every store with indexes passes, with `node:test`. */
export function indexSuite(name: string, options: StoreSuiteOptions): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: Store, indexes: IndexStore) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      await using store = await place.open(CLOCK);
      await run(store, indexesOf(store));
    });
  };
  /** A complete index with a row for each of these, by its key. */
  const filled = async (store: Store, rows: Readonly<Record<string, IndexedRow>>, owner?: string): Promise<void> => {
    const indexes = indexesOf(store);
    if (!(await indexes.declare(SHAPE))) await built(indexes, () => undefined);
    for (const [key, after] of Object.entries(rows)) {
      const actor = new ChainWriter(`door/${key}`);
      const indexed = [{ index: "open", after }];
      await store.commit(actor.id, actor.next({ indexed, ...(owner === undefined ? {} : { row: { owner } }) }));
    }
  };

  describe(name, () => {
    it("a new index answers only once it is built", async (store, indexes) => {
      for (const key of ["a", "b", "c", "d", "e"]) await store.commit(`door/${key}`, new ChainWriter(`door/${key}`).next());
      await store.commit("room/x", new ChainWriter("room/x").next());
      assert.equal(await indexes.declare(SHAPE), false);
      assert.equal(await indexes.query("open", ALL), undefined);
      const first = await indexes.build("open", byCount, 2);
      assert.deepEqual(first, { actors: 2, next: "door/b" });
      assert.equal(await indexes.query("open", ALL), undefined);
      assert.equal(await built(indexes, byCount, 2), 5);
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["a", "b", "c", "d", "e"]);
      assert.equal(await indexes.declare(SHAPE), true);
    });

    it("an index is empty and incomplete after its definition changes", async (store, indexes) => {
      await filled(store, { a: row("A", 1) });
      assert.equal(await indexes.declare({ ...SHAPE, fields: ["rank"], definition: "2" }), false);
      const [only] = await indexes.list();
      assert.deepEqual([only?.state, only?.rows, only?.fields, only?.definition], ["building", 0, ["rank"], "2"]);
    });

    it("a commit changes rows, and a change without a row deletes it", async (store, indexes) => {
      await filled(store, { a: row("A", 2), b: row("B", 1) });
      assert.deepEqual(await indexes.query("open", { ...ALL, count: true }), {
        rows: [
          { key: "b", data: '{"title":"B","rank":1}', value: 1 },
          { key: "a", data: '{"title":"A","rank":2}', value: 2 },
        ],
        count: 2,
      });
      const c = new ChainWriter("door/c");
      const [one, two] = [row("C", 0), row("C2", 5)];
      await store.commit(c.id, c.next({ indexed: [{ index: "open", after: one }] }));
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["c", "b", "a"]);
      await store.commit(c.id, c.next({ indexed: [] }));
      await store.commit(c.id, c.next({ indexed: [{ index: "open", before: one, after: two }] }));
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["b", "a", "c"]);
      await store.commit(c.id, c.next({ indexed: [{ index: "open" }], row: { status: "stopped" } }));
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["b", "a"]);
    });

    it("a refused commit changes no row", async (store, indexes) => {
      await filled(store, { a: row("A", 1) });
      const other = new ChainWriter("door/a");
      await assert.rejects(store.commit(other.id, other.next({ indexed: [{ index: "open", after: row("B", 2) }] })), {
        code: "STORE_CONFLICT",
      });
      assert.deepEqual((await indexes.query("open", ALL))?.rows, [{ key: "a", data: '{"title":"A","rank":1}', value: 1 }]);
    });

    it("a commit by a writer that maintains no indexes makes them stale, until they are built", async (store, indexes) => {
      await filled(store, { a: row("A", 1) });
      const b = new ChainWriter("door/b");
      const x = new ChainWriter("room/x");
      await store.commit(x.id, x.next());
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["a"]);
      await store.commit(b.id, b.next());
      assert.equal(await indexes.query("open", ALL), undefined);
      assert.equal(await indexes.declare(SHAPE), false);
      assert.equal((await indexes.list())[0]?.state, "stale");
      await built(indexes, byCount);
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["a", "b"]);
    });

    it("repairing a stale index computes the rows of the actors that made it stale", async (store, indexes) => {
      await filled(store, { a: row("A", 1), b: row("B", 2) });
      assert.equal(await indexes.repair("open", byCount, 10), undefined);
      const added = ["c", "d", "e"].map((key) => new ChainWriter(`door/${key}`));
      for (const actor of added) await store.commit(actor.id, actor.next());
      const computed: ActorId[] = [];
      const rowOf: RowOf = (id) => {
        computed.push(id);
        return id === "door/d" ? undefined : row("new", 0);
      };
      assert.equal(await indexes.repair("open", rowOf, 2), 1);
      assert.equal(await indexes.query("open", ALL), undefined);
      const [first] = added;
      assert.ok(first);
      await store.commit(first.id, first.next());
      assert.equal(await indexes.repair("open", rowOf, 2), 0);
      assert.equal(await indexes.repair("open", rowOf, 2), undefined);
      assert.deepEqual(computed.toSorted(), ["door/c", "door/c", "door/d", "door/e"]);
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["c", "e", "a", "b"]);
    });

    it("a commit without indexes during a build leaves the index stale", async (store, indexes) => {
      const [a, b] = [new ChainWriter("door/a"), new ChainWriter("door/b")];
      await store.commit(a.id, a.next());
      await store.commit(b.id, b.next());
      await indexes.declare(SHAPE);
      const page = await indexes.build("open", byCount, 1);
      await store.commit(a.id, a.next());
      await indexes.build("open", byCount, 10, page.next);
      assert.equal(await indexes.query("open", ALL), undefined);
      assert.equal(await indexes.repair("open", byCount, 10), 0);
      assert.deepEqual(await indexes.verify("open", byCount, 10), { actors: 2, flaws: [] });
    });

    it("rows that turns change while an index is built are those of the last states", async (store, indexes) => {
      const actors = ["a", "b", "c"].map((key) => new ChainWriter(`door/${key}`));
      for (const actor of actors) await store.commit(actor.id, actor.next());
      await indexes.declare(SHAPE);
      let page = await indexes.build("open", byCount, 1);
      // Turns of an actor that the build has yet to reach, and of one that it has passed.
      for (const actor of [actors[0], actors[2]])
        if (actor !== undefined)
          await store.commit(actor.id, actor.next({ indexed: [{ index: "open", before: row(null, 1), after: row(null, 2) }] }));
      while (page.next !== undefined) page = await indexes.build("open", byCount, 1, page.next);
      assert.deepEqual(await indexes.verify("open", byCount, 10), { actors: 3, flaws: [] });
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), ["b", "a", "c"]);
    });

    it("rows are ordered by numbers, then texts by code points, then what has no value, and by key", async (store, indexes) => {
      const rows: Readonly<Record<string, IndexedRow>> = {
        n2: row("", 2),
        n1: row("", -1.5),
        t2: row("", "\u{1F600}"),
        t1: row("", "\uFFFD"),
        t0: row("", ""),
        z1: row("", null),
        n3: row("", 2),
      };
      await filled(store, rows);
      const order = ["n1", "n2", "n3", "t0", "t1", "t2", "z1"];
      assert.deepEqual(keysOf(await indexes.query("open", ALL)), order);
      assert.deepEqual(keysOf(await indexes.query("open", { ...ALL, descending: true })), order.toReversed());
      for (const descending of [false, true]) {
        const seen: string[] = [];
        for (let query: RowQuery = { ...ALL, descending, limit: 2 }; ;) {
          const found: FoundRows | undefined = await indexes.query("open", query);
          const last = found?.rows.at(-1);
          if (found === undefined || last === undefined) break;
          seen.push(...found.rows.map(({ key }) => key));
          query = { ...query, after: last };
        }
        assert.deepEqual(seen, descending ? order.toReversed() : order);
      }
    });

    it("filters: equal, one of, ranges of one type, prefixes", async (store, indexes) => {
      await filled(store, {
        a: row("alpha", 1),
        b: row("beta", 2),
        c: row("alphabet", 3),
        d: row(null, null),
        e: row("a\u{10FFFF}x", "7"),
        f: row("%_", 0),
      });
      const found = async (...conditions: RowQuery["conditions"]): Promise<string | undefined> =>
        keysOf(await indexes.query("open", { ...ALL, conditions }))?.join("");
      assert.equal(await found({ column: 0, in: ["alpha"] }), "a");
      assert.equal(await found({ column: 0, in: [null] }), "d");
      assert.equal(await found({ column: 0, in: ["alpha", null, "beta"] }), "abd");
      assert.equal(await found({ column: 0, in: [] }), "");
      assert.equal(await found({ column: 0, prefix: "alpha" }), "ac");
      assert.equal(await found({ column: 0, prefix: "a\u{10FFFF}" }), "e");
      assert.equal(await found({ column: 0, prefix: "%" }), "f");
      assert.equal(await found({ column: 0, prefix: "" }), "fabce");
      assert.equal(await found({ column: 1, gte: 2, lte: undefined }), "bc");
      assert.equal(await found({ column: 1, gte: undefined, lte: 1 }), "fa");
      assert.equal(await found({ column: 1, gte: 1, lte: 2 }), "ab");
      assert.equal(await found({ column: 1, gte: "", lte: undefined }), "e");
      assert.equal(await found({ column: 1, gte: undefined, lte: "9" }), "e");
      assert.equal(await found({ column: 1, gte: 2, lte: undefined }, { column: 0, prefix: "alpha" }), "c");
      assert.equal(await found({ column: 0, in: ["alpha' OR '1'='1"] }), "");
    });

    it("texts have all words, phrases and prefixes, together with filters", async (store, indexes) => {
      const texts = { ...SHAPE, text: ["notes"] };
      assert.equal(await indexes.declare(texts), false);
      await built(indexes, () => undefined);
      const rowWith = (n: number, ...notes: readonly string[]): IndexedRow => ({
        ...row(n % 2 === 0 ? "even" : "odd", n),
        text: searchableText(notes),
      });
      const rows = [
        rowWith(0, "The disk is full"),
        rowWith(1, "Full, the disk?", "Is it"),
        rowWith(2),
        rowWith(3, "diskette"),
        rowWith(4, "DISK\0 failure"),
      ];
      const actors = rows.map((after, n) => ({ writer: new ChainWriter(`door/${n}`), after }));
      for (const { writer, after } of actors) await store.commit(writer.id, writer.next({ indexed: [{ index: "open", after }] }));
      const found = async (query: string, more: Partial<RowQuery> = {}): Promise<string> => {
        const page = await indexes.query("open", { ...ALL, terms: searchTerms(query), count: true, ...more });
        if (page?.count !== undefined) assert.equal(page.count, page.rows.length);
        return keysOf(page)?.join("") ?? "";
      };
      assert.equal(await found("full DISK"), "01");
      assert.equal(await found('"disk is full"'), "0");
      assert.equal(await found('"disk is"'), "0", "a phrase is within one text");
      assert.equal(await found("disk*"), "0134");
      assert.equal(await found("disk OR diskette"), "");
      assert.equal(await found("disk", { descending: true }), "410");
      assert.equal(await found("disk", { conditions: [{ column: 0, in: ["even"] }] }), "04");
      assert.equal(await found("disk*", { conditions: [{ column: 1, gte: 1, lte: 3 }] }), "13");
      assert.equal(await found("disk", { after: { value: 0, key: "0" }, count: false }), "14");
      const [first] = actors;
      assert.ok(first);
      const change = (after: IndexedRow | undefined, hasSameText: boolean) =>
        store.commit(first.writer.id, first.writer.next({ indexed: [{ index: "open", before: first.after, after, hasSameText }] }));
      await change({ ...first.after, columns: ["even", 9] }, true);
      assert.equal(await found("disk"), "140");
      await change(rowWith(0, "quiet"), false);
      assert.deepEqual([await found("disk"), await found("quiet")], ["14", "0"]);
      await change(undefined, false);
      assert.equal(await found("quiet"), "");
      const wanted: RowOf = (id) => (id === "door/0" ? undefined : id === "door/4" ? rowWith(4, "other") : rows[Number(id.at(-1))]);
      assert.deepEqual((await indexes.verify("open", wanted, 10)).flaws, [{ id: "door/4", flaw: "different" }]);
      await built(indexes, wanted, 2);
      assert.deepEqual([await found("disk*"), await found("other")], ["13", "4"]);
      assert.deepEqual((await indexes.list())[0]?.text, ["notes"]);
    });

    it("an owner sees its own rows, and the row of its own actor", async (store, indexes) => {
      await filled(store, { a: row("A", 1), b: row("B", 2) }, "ann");
      await filled(store, { c: row("C", 3) }, "bob");
      await filled(store, { d: row("D", 4) });
      const found = async (owner: NonNullable<RowQuery["owner"]>): Promise<string | undefined> =>
        keysOf(await indexes.query("open", { ...ALL, owner, count: true }))?.join("");
      assert.equal(await found({ principal: "ann" }), "ab");
      assert.equal(await found({ principal: "ann", key: "d" }), "abd");
      assert.equal(await found({ key: "d" }), "d");
      assert.equal(await found({}), "");
      assert.equal((await indexes.query("open", { ...ALL, owner: { principal: "ann" }, count: true }))?.count, 2);
    });

    it("verification finds missing, different and unexpected rows", async (store, indexes) => {
      await filled(store, { a: row("A", 1), b: row("B", 1) });
      const c = new ChainWriter("door/c");
      await store.commit(c.id, c.next({ indexed: [] }));
      const wanted: RowOf = (id) => (id === "door/b" ? undefined : row("A2", 1));
      assert.deepEqual(await indexes.verify("open", wanted, 2), {
        actors: 2,
        next: "door/b",
        flaws: [
          { id: "door/a", flaw: "different" },
          { id: "door/b", flaw: "unexpected" },
        ],
      });
      assert.deepEqual(await indexes.verify("open", wanted, 2, "door/b"), { actors: 1, flaws: [{ id: "door/c", flaw: "missing" }] });
    });

    it("a removed actor and a dropped index leave no rows", async (store, indexes) => {
      await filled(store, { a: row("A", 1) });
      const b = new ChainWriter("door/b");
      // By a writer that does not maintain the index: its row is still there.
      await store.commit(b.id, b.next({ indexed: [{ index: "open", after: row("B", 2) }] }));
      const { event } = b.next({ row: { status: "stopped" } });
      assert.equal(await store.remove({ id: b.id, head: event.id }), false);
      assert.equal((await indexes.list())[0]?.rows, 2);
      assert.equal(await indexes.drop("open"), true);
      assert.equal(await indexes.drop("open"), false);
      assert.deepEqual(await indexes.list(), []);
      assert.equal(await indexes.query("open", ALL), undefined);
    });

    it("removing an actor deletes a row that its stop left", async (store, indexes) => {
      await filled(store, {});
      const b = new ChainWriter("door/b");
      await store.commit(b.id, b.next({ indexed: [{ index: "open", after: row("B", 2) }] }));
      const stopped = b.next({ row: { status: "stopped" } });
      await store.commit(b.id, stopped);
      assert.equal((await indexes.list())[0]?.rows, 1);
      assert.equal(await store.remove({ id: b.id, head: stopped.event.id }), true);
      assert.equal((await indexes.list())[0]?.rows, 0);
    });

    if (options.durable)
      test("rows, definitions and staleness survive a restart", async () => {
        using place = options.place();
        {
          await using store = await place.open(CLOCK);
          await filled(store, { a: row("A", 1) });
        }
        {
          await using store = await place.open(CLOCK);
          assert.deepEqual(keysOf(await indexesOf(store).query("open", ALL)), ["a"]);
          assert.equal(await indexesOf(store).declare(SHAPE), true);
          const b = new ChainWriter("door/b");
          await store.commit(b.id, b.next());
        }
        await using store = await place.open(CLOCK);
        assert.equal(await indexesOf(store).declare(SHAPE), false);
        assert.deepEqual(await indexesOf(store).list(), [{ ...SHAPE, state: "stale", rows: 1 }]);
      });
  });
}
