// Owns: the tests of every engine with indexes. Does not own: those of stores with indexes (index-suite.ts).
import assert from "node:assert/strict";
import { index } from "../../core/actor/index.ts";
import {
  type ActorId,
  type Behaviour,
  DEFAULT_POLICY,
  type Engine,
  type Index,
  type IndexEvent,
  type IndexOperations,
  type IndexQuery,
  isJsonObject,
  type Json,
  type JsonObject,
  type Viewer,
} from "../../core/contract/index.ts";
import { SimulatedEntropy, until } from "../simulated-clock.ts";

/** The parts of an engine that the suite of indexes uses. */
export type IndexedEngine = Pick<Engine, "call" | "stop"> &
  Required<Pick<Engine, "query" | "watchIndex">> & { readonly indexes: IndexOperations };

/** The options of an engine under test. */
export interface IndexedKinds {
  readonly kinds: readonly Behaviour[];
  readonly indexes: readonly Index[];
}

/** An engine under test, and the place that outlives it. */
export interface OpenedIndexes extends AsyncDisposable {
  readonly engine: IndexedEngine;
  /** Settles when queries have the rows of all turns so far. Absent: they have them when the reply comes. */
  arrived?(): Promise<void>;
  /** Another engine on the durable data of the first. */
  reopen(other: IndexedKinds): Promise<IndexedEngine>;
}

/** How much the suite does, for engines that are slow. */
export interface IndexSuiteSize {
  /** Of which indexes are built. Default 200. */
  readonly actors?: number;
  /** Of runs of random turns. Default 3. */
  readonly runs?: number;
  /** Turns in each of them. Default 30. */
  readonly steps?: number;
}

/** Opens the engine that the suite tests. */
export type OpenIndexes = (kinds: IndexedKinds) => Promise<OpenedIndexes>;

interface Incident {
  readonly title: string;
  /** A number in most tests. */
  readonly severity: number | string | null;
  readonly isOpen: boolean;
  readonly reporter: string | null;
  readonly notes: readonly string[];
}

/** Actors whose calls say how their state changes. */
const incidentOf = (more: Partial<Behaviour<Incident>> = {}): Behaviour<Incident> => ({
  kind: "incident",
  version: 1,
  policy: { ...DEFAULT_POLICY, owner: "starter", mailbox: 10_000 },
  initial: () => ({ title: "", severity: 3, isOpen: true, reporter: null, notes: [] }),
  receive: (state, { action, args }) => {
    if (action === "end") return { stop: "done" };
    if (action === "set") return { state: { ...state, ...(isJsonObject(args) ? args : {}) } };
    return { state: { ...state, notes: [...state.notes, typeof args === "string" ? args : ""] } };
  },
  ...more,
});
const incident = incidentOf();

const open = index(incident, {
  name: "open",
  visible: "everyone",
  where: ({ state }) => state.isOpen,
  pick: ["title", "severity"],
  order: "severity",
});
const byTitle = index(incident, { name: "by-title", visible: "everyone", pick: ["title", "isOpen", "reporter"], order: "title" });
const byKey = index(incident, { name: "by-key", visible: "everyone", pick: ["notes"] });
const searched = index(incident, {
  name: "searched",
  visible: "everyone",
  pick: ["severity"],
  order: "severity",
  text: ["title", "notes"],
});
const mine = index(incident, { name: "mine", visible: "owner", pick: ["title"] });
const reported = index(incident, { name: "reported", visible: { principal: "reporter" }, pick: ["reporter"] });
const clerks = index(incident, { name: "clerks", visible: ({ viewer }) => viewer.scopes.includes("clerk"), pick: ["title"] });
const broken = index(incident, {
  name: "broken",
  visible: () => {
    throw new Error("no");
  },
  pick: ["title"],
});

const viewerOf = (principal: string | undefined, scopes: readonly string[] = []): Viewer => ({
  scopes,
  ...(principal === undefined ? {} : { principal }),
});

interface Stage {
  readonly engine: IndexedEngine;
  readonly opened: OpenedIndexes;
  /** Makes a call, and waits until queries have its rows. */
  readonly call: (key: string, action: string, args?: Json, principal?: string) => Promise<void>;
  /** Several at once. */
  readonly set: (states: Readonly<Record<string, JsonObject>>, principal?: string) => Promise<void>;
  /** The same over another engine of this place. */
  readonly reopen: (other: IndexedKinds) => Promise<Stage>;
  /** Waits until queries have the rows of all turns so far. */
  readonly arrived: () => Promise<void>;
}

const idOf = (key: string): ActorId => `incident/${encodeURIComponent(key)}`;

function stageOf(opened: OpenedIndexes, engine: IndexedEngine): Stage {
  const arrived = async (): Promise<void> => opened.arrived?.();
  const send = async (key: string, action: string, args: Json, principal: string): Promise<void> => {
    assert.deepEqual(await engine.call({ to: idOf(key), action, args, start: null, viewer: viewerOf(principal) }), { ok: null });
  };
  return {
    engine,
    opened,
    arrived,
    async call(key, action, args = null, principal = "ann") {
      await send(key, action, args, principal);
      await arrived();
    },
    async set(states, principal = "ann") {
      await Promise.all(Object.entries(states).map(([key, state]) => send(key, "set", state, principal)));
      await arrived();
    },
    reopen: async (other) => stageOf(opened, await opened.reopen(other)),
  };
}

const keysOf = async <R extends object>(engine: IndexedEngine, of: Index<R>, query: IndexQuery<R> = {}): Promise<string> =>
  (await engine.query(of, query)).items.map(({ key }) => key).join(" ");

/** The keys of all pages. */
async function walk<R extends object>(engine: IndexedEngine, of: Index<R>, query: IndexQuery<R>): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ;) {
    const page = await engine.query(of, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    pages.push(page.items.map(({ key }) => key));
    cursor = page.next;
    if (cursor === undefined) return pages;
  }
}

/** Registers the tests that every engine with indexes passes, with `node:test`. */
export function engineIndexSuite(name: string, openEngine: OpenIndexes, { actors = 200, runs = 3, steps = 30 }: IndexSuiteSize = {}): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, indexes: readonly Index[], run: (stage: Stage) => Promise<void>): void => {
    test(title, async () => {
      await using opened = await openEngine({ kinds: [incident], indexes });
      await run(stageOf(opened, opened.engine));
    });
  };

  describe(name, () => {
    it("rows follow turns, stops and next lives #index.maintained", [open], async ({ engine, call, set, arrived }) => {
      await set({ a: { title: "A", severity: 2 }, "b c": { title: "B", severity: 1 }, d: { title: "D", severity: 3 } });
      assert.deepEqual(await engine.query(open), {
        items: [
          { id: "incident/b%20c", key: "b c", title: "B", severity: 1 },
          { id: "incident/a", key: "a", title: "A", severity: 2 },
          { id: "incident/d", key: "d", title: "D", severity: 3 },
        ],
      });
      await call("a", "set", { isOpen: false });
      await call("b c", "end");
      await call("d", "note", "It changes no row.");
      await call("e", "set", { severity: 0 });
      assert.equal(await keysOf(engine, open), "e d");
      await call("b c", "set", { severity: 9 });
      await engine.stop(idOf("e"), "over");
      await arrived();
      assert.equal(await keysOf(engine, open), "d b c");
      await call("a", "set", { isOpen: true, severity: 8 });
      assert.equal(await keysOf(engine, open), "d a b c");
      assert.deepEqual(await engine.indexes.verify("open"), { index: "open", actors: 4, flawed: 0, flaws: [] });
    });

    it("pages, filters and counts #index.query", [open, byTitle], async ({ engine, set }) => {
      await set(
        Object.fromEntries(
          Array.from({ length: 25 }, (_, n) => [`k${n}`, { title: `t${n}`, severity: n % 5, reporter: n % 2 === 0 ? "eve" : null }]),
        ),
      );
      for (const order of ["asc", "desc"] as const) {
        const pages = await walk(engine, open, { limit: 7, order });
        assert.deepEqual(
          pages.map(({ length }) => length),
          [7, 7, 7, 4],
        );
        assert.equal(new Set(pages.flat()).size, 25);
        const whole = await engine.query(open, { order, count: true });
        assert.deepEqual([whole.items.map(({ key }) => key), whole.count, whole.next], [pages.flat(), 25, undefined]);
      }
      assert.equal((await engine.query(open, { limit: 1, count: true })).count, 25);
      assert.equal(await keysOf(engine, open, { where: { severity: { gte: 3 }, title: { prefix: "t1" } } }), "k13 k18 k14 k19");
      assert.equal(await keysOf(engine, open, { where: { severity: { gte: 1, lte: 2 }, title: { in: ["t1", "t3", "t7"] } } }), "k1 k7");
      assert.equal(await keysOf(engine, byTitle, { where: { title: "t3" } }), "k3");
      assert.equal(await keysOf(engine, byTitle, { where: { title: { gte: "t8" } } }), "k8 k9");
      assert.equal((await engine.query(open, { where: { severity: { in: [0, 4] } }, count: true, limit: 1 })).count, 10);
      assert.equal((await engine.query(byTitle, { where: { reporter: null }, count: true })).count, 12);
      assert.equal((await engine.query(byTitle, { where: { isOpen: false }, count: true })).count, 0);
    });

    it("rows that are added or removed between two pages are neither repeated nor skipped #index.query", [open], async (stage) => {
      const { engine, set, call } = stage;
      await set({ a: { severity: 1 }, b: { severity: 2 }, c: { severity: 3 }, d: { severity: 4 } });
      const first = await engine.query(open, { limit: 2 });
      assert.equal(first.items.map(({ key }) => key).join(" "), "a b");
      await call("b", "end");
      await set({ a0: { severity: 0 }, b1: { severity: 2.5 } });
      assert.ok(first.next);
      assert.equal(await keysOf(engine, open, { cursor: first.next }), "b1 c d");
    });

    it("numbers precede texts, absent members come last, and equal ones have the order of their keys", [open], async (stage) => {
      const { engine, set } = stage;
      const severities = { n2: 2, n1: -1.5, t2: "\u{1F600}", t1: "\uFFFD", t0: "", z1: null, n3: 2 };
      await set(Object.fromEntries(Object.entries(severities).map(([key, severity]) => [key, { severity }])));
      const order = ["n1", "n2", "n3", "t0", "t1", "t2", "z1"];
      assert.deepEqual((await walk(engine, open, { limit: 2 })).flat(), order);
      assert.deepEqual((await walk(engine, open, { limit: 2, order: "desc" })).flat(), order.toReversed());
      assert.equal(await keysOf(engine, open, { where: { severity: { gte: 2 } } }), "n2 n3");
      assert.equal(await keysOf(engine, open, { where: { severity: { gte: "" } } }), "t0 t1 t2");
      assert.equal(await keysOf(engine, open, { where: { severity: null } }), "z1");
    });

    it("texts are searched by words, phrases and prefixes, as turns change them #index.text", [searched], async (stage) => {
      const { engine, set, call } = stage;
      await set({ a: { title: "The disk is full", severity: 2 }, b: { title: "Printer on fire", severity: 1 } });
      await set({ c: { title: "Full moon", severity: 3 } });
      await call("b", "note", "The DISK of the printer, too");
      const found = (text: string, more: IndexQuery<{ severity: Incident["severity"] }> = {}): Promise<string> =>
        keysOf(engine, searched, { text, ...more });
      assert.equal(await found("disk"), "b a");
      assert.equal(await found("disk", { order: "desc", limit: 1 }), "a");
      assert.equal(await found("disk", { where: { severity: { gte: 2 } } }), "a");
      assert.equal(await found('full "the disk"'), "a");
      assert.equal(await found('"fire the disk"'), "", "a phrase is within one text");
      assert.equal(await found("print*"), "b");
      assert.equal(await found("disk OR moon"), "");
      // It changes no picked member.
      await call("c", "note", "disk at last");
      assert.equal(await found("disk"), "b a c");
      const first = await engine.query(searched, { text: "disk", limit: 2, count: true });
      assert.equal(first.count, 3);
      assert.ok(first.next);
      assert.equal(await found("disk", { cursor: first.next }), "c");
      await call("a", "set", { title: "Solved" });
      await call("b", "end");
      assert.equal(await found("disk"), "c");
      for (const text of ["", "a*", '"open', "x".repeat(600)]) await assert.rejects(found(text), { code: "BAD_QUERY" }, text);
      assert.deepEqual((await engine.indexes.verify("searched")).flaws, []);
      assert.equal(await engine.indexes.rebuild("searched"), 3);
      assert.equal(await found("disk"), "c");
    });

    it("queries and rows are bounded and checked #index.bounds", [open, byKey], async ({ engine, set, call }) => {
      await set({ a: { title: `${"x".repeat(1_023)}\u{1F600}`, severity: 1 }, b: { severity: 2 } });
      assert.equal((await engine.query(open, { limit: 1 })).items[0]?.title, "x".repeat(1_023));
      await call("a", "note", "x".repeat(5_000));
      const [a, b] = (await engine.query(byKey)).items;
      assert.deepEqual([a?.notes ?? null, b?.notes], [null, []], "a large list is left out");
      const bad = { name: "EngineError", code: "BAD_QUERY" };
      for (const query of BAD_QUERIES) await assert.rejects(engine.query(open, JSON.parse(query)), bad, query);
      const { next } = await engine.query(open, { limit: 1 });
      assert.ok(next);
      await assert.rejects(engine.query(open, { cursor: next, order: "desc" }), bad);
      await assert.rejects(engine.query(byKey, { cursor: next }), bad);
      await assert.rejects(engine.query(byKey, { text: "x" }), { ...bad, message: /has no full text/u });
      const unknown = { name: "EngineError", code: "UNKNOWN_INDEX" };
      await assert.rejects(engine.query(mine), unknown);
      assert.throws(() => engine.watchIndex(mine, () => undefined), unknown);
      await assert.rejects(engine.indexes.verify("mine"), unknown);
      await assert.rejects(engine.indexes.rebuild("mine"), unknown);
    });

    it("a viewer gets the rows that the index's rule permits #index.visible", [mine, reported, clerks, broken], async (stage) => {
      const { engine, set, call } = stage;
      await set({ a: { reporter: "eve" } });
      await set({ b: { reporter: "ann" } }, "bob");
      const seen = async <R extends object>(of: Index<R>, principal?: string, scopes: readonly string[] = []): Promise<string> => {
        const page = await engine.query(of, { viewer: viewerOf(principal, scopes), count: true });
        assert.equal(page.count, page.items.length, "what is not visible is not counted");
        return page.items.map(({ key }) => key).join(" ");
      };
      assert.deepEqual([await seen(mine, "ann"), await seen(mine, "eve"), await seen(mine)], ["a", "", ""]);
      assert.deepEqual([await seen(reported, "ann"), await seen(reported, "eve"), await seen(reported)], ["b", "a", ""]);
      await call("b", "set", { reporter: "eve" }, "bob");
      assert.deepEqual([await seen(reported, "ann"), await seen(reported, "eve")], ["", "a b"]);
      assert.deepEqual([await seen(clerks, "ann"), await seen(clerks, "eve", ["clerk"])], ["", "a b"]);
      assert.equal(await seen(broken, "ann", ["clerk"]), "");
      assert.equal(await keysOf(engine, clerks), "a b", "without a viewer: all");
      assert.equal(await keysOf(engine, mine), "a b", "without a viewer: all");
    });

    it("C8 watchers are notified whose row changed, and queries have it then #index.maintained", [open, reported], async (stage) => {
      const { engine, call } = stage;
      await call("a", "set", { severity: 1, reporter: "eve" });
      const events: { readonly event: IndexEvent; readonly keys: Promise<string> }[] = [];
      const heard = (key: string): typeof events => events.filter(({ event }) => event.id === idOf(key));
      const undo = engine.watchIndex(open, (event) => events.push({ event, keys: keysOf(engine, open) }));
      const principals: (readonly string[] | undefined)[] = [];
      engine.watchIndex(reported, (event) => principals.push(event.principals));
      await call("b", "set", { severity: 0 }, "bob");
      await until("a new row", () => heard("b").length > 0);
      const [added] = heard("b");
      assert.deepEqual([added?.event, await added?.keys], [{ id: idOf("b"), owner: "bob" }, "b a"]);
      // An engine may also call the listener with the rows that are there when it begins to watch.
      const before = heard("a").length;
      await call("a", "note", "It changes no row.");
      await call("b", "end", null, "bob");
      await until("its row is removed", () => heard("b").length > 1);
      assert.deepEqual([await heard("b")[1]?.keys, heard("b").length, heard("a").length], ["a", 2, before]);
      await call("a", "set", { reporter: "ann" });
      await until("both principals", () => principals.some((both) => both?.join(" ") === "eve ann"));
      undo();
      await call("c", "set", { severity: 1 });
      assert.equal(heard("c").length, 0);
    });

    it(
      "an index is built from actors that were there before it, and again when its definition changes #index.rebuilt",
      [],
      async (first) => {
        await first.set(Object.fromEntries(Array.from({ length: actors }, (_, n) => [`k${n}`, { title: `t${n}`, severity: n % 5 }])));
        await first.call("k1", "end");
        const second = await first.reopen({ kinds: [incident], indexes: [open] });
        assert.equal((await second.engine.query(open, { count: true, limit: 1 })).count, actors - 1);
        assert.deepEqual(await second.engine.indexes.verify("open"), { index: "open", actors, flawed: 0, flaws: [] });
        const severe = index(incident, {
          name: "open",
          visible: "everyone",
          where: ({ state }) => Number(state.severity) > 3,
          pick: ["title"],
        });
        const third = await second.reopen({ kinds: [incident], indexes: [severe] });
        assert.equal((await third.engine.query(severe, { count: true, limit: 1 })).count, Math.floor(actors / 5));
        const words = index(incident, { name: "open", visible: "everyone", pick: ["title"], text: ["title"] });
        const fourth = await third.reopen({ kinds: [incident], indexes: [words] });
        assert.equal(await keysOf(fourth.engine, words, { text: "t17" }), "k17");
        assert.equal(await fourth.engine.indexes.rebuild("open"), actors);
        assert.deepEqual((await fourth.engine.indexes.verify("open")).flaws, []);
        const [listed] = await fourth.engine.indexes.list();
        assert.deepEqual([listed?.name, listed?.state, listed?.rows, listed?.text], ["open", "complete", actors - 1, ["title"]]);
        const last = await fourth.reopen({ kinds: [incident], indexes: [] });
        await until("an index that its kind no longer has is deleted", async () => (await last.engine.indexes.list()).length === 0);
      },
    );

    it("turns during a build, and during a rebuild, are in the index #index.rebuilt", [], async (first) => {
      const all = Array.from({ length: actors }, (_, n) => `k${n}`);
      await first.set(Object.fromEntries(all.map((key) => [key, { severity: 1 }])));
      const { engine, set, arrived } = await first.reopen({ kinds: [incident], indexes: [open] });
      const changed = all.map((key, n) => [key, n % 3 === 0 ? { isOpen: false } : { severity: n }] as const);
      await Promise.all([set(Object.fromEntries(changed)), engine.query(open, { limit: 1 })]);
      const expected = changed.filter((_, n) => n % 3 !== 0).map(([key]) => key);
      const last = expected.at(-1);
      assert.ok(last !== undefined);
      const keys = async (): Promise<readonly string[]> => (await engine.query(open, { limit: 1_000 })).items.map(({ key }) => key);
      assert.deepEqual(await keys(), expected);
      await Promise.all([set({ k1: { severity: 1_000 }, [last]: { isOpen: false } }), engine.indexes.rebuild("open")]);
      await arrived();
      assert.deepEqual(await keys(), [...expected.slice(1, -1), "k1"]);
      assert.deepEqual((await engine.indexes.verify("open")).flaws, []);
    });

    it("rows of a kind that gets another version are those of migrated states #index.rebuilt", [byTitle], async (first) => {
      await first.set({ a: { title: "first" } });
      const kind = incidentOf({
        version: 2,
        migrate: () => ({ title: "migrated", severity: 3, isOpen: true, reporter: null, notes: [] }),
      });
      const next = index(kind, { name: "by-title", visible: "everyone", pick: ["title"], order: "title" });
      const { engine, call } = await first.reopen({ kinds: [kind], indexes: [next] });
      assert.deepEqual(
        (await engine.query(next)).items.map(({ title }) => title),
        ["migrated"],
      );
      await call("a", "note", "It is stored by this turn.");
      assert.deepEqual((await engine.indexes.verify("by-title")).flaws, []);
    });

    const picky = index(incident, {
      name: "picky",
      visible: "everyone",
      where: ({ state }) => {
        if (Number(state.severity) > 5) throw new Error("too severe");
        return true;
      },
      pick: ["severity"],
    });
    it("an actor for which `where` throws has no row, and its turn does not fail #index.pure", [picky], async ({ engine, set }) => {
      await set({ a: { severity: 1 }, b: { severity: 9 }, c: { severity: 2 } });
      await set({ a: { severity: 9 } });
      assert.equal(await keysOf(engine, picky), "c");
      assert.equal((await engine.indexes.verify("picky")).flawed, 0);
    });

    for (let seed = 1; seed <= runs; seed += 1)
      it(`random turns and queries agree with a plain list, over restarts, seed ${seed}`, [open, byTitle], (stage) =>
        checkRandom(stage, new SimulatedEntropy(seed), steps),
      );
  });
}

interface Row {
  readonly title: string;
  readonly severity: number;
}

/** Both indexes always return what a list of all states would. */
async function checkRandom(first: Stage, dice: SimulatedEntropy, steps: number): Promise<void> {
  let stage = first;
  const states = new Map<string, Row>();
  const compare = (one: number | string, other: number | string): number => (one < other ? -1 : one > other ? 1 : 0);
  const expected = (by: (row: Row) => number | string, includes: (row: Row) => boolean): readonly string[] =>
    [...states]
      .filter(([, row]) => includes(row))
      .toSorted(([key, row], [otherKey, other]) => compare(by(row), by(other)) || compare(key, otherKey))
      .map(([key]) => key);
  for (let step = 0; step < steps; step += 1) {
    const key = `k${dice.under(8)}`;
    if (dice.under(5) === 0 && states.delete(key)) await stage.call(key, "end");
    else {
      const row = { title: `t${dice.under(4)}`, severity: dice.under(4) };
      states.set(key, row);
      await stage.call(key, "set", { ...row });
    }
    if (dice.under(10) === 0) stage = await stage.reopen({ kinds: [incident], indexes: [open, byTitle] });
    const { engine } = stage;
    const least = dice.under(4);
    const limit = 1 + dice.under(4);
    const bySeverity = expected(
      ({ severity }) => severity,
      ({ severity }) => severity >= least,
    );
    const where = { severity: { gte: least } };
    assert.deepEqual((await walk(engine, open, { where, limit })).flat(), bySeverity);
    assert.deepEqual((await walk(engine, open, { where, limit, order: "desc" })).flat(), bySeverity.toReversed());
    const title = `t${least}`;
    const titled = expected(
      () => 0,
      (row) => row.title === title,
    );
    const page = await engine.query(byTitle, { where: { title }, count: true });
    assert.deepEqual([page.items.map((item) => item.key), page.count], [titled, titled.length]);
  }
  for (const { name } of [open, byTitle]) assert.deepEqual((await stage.engine.indexes.verify(name)).flaws, []);
}

/** Queries that untyped code, or a client, may make. */
const BAD_QUERIES: readonly string[] = [
  '{"limit":0}',
  '{"limit":1001}',
  '{"limit":1.5}',
  '{"order":"up"}',
  '{"cursor":"x"}',
  '{"cursor":5}',
  '{"count":"yes"}',
  '{"where":[]}',
  '{"where":{"isOpen":true}}',
  '{"where":{"__proto__":1}}',
  '{"where":{"title":{"prefix":1}}}',
  '{"where":{"title":{"in":[{}]}}}',
  '{"where":{"title":{}}}',
  '{"where":{"title":{"gte":1,"lte":"a"}}}',
  '{"where":{"title":{"gte":null}}}',
  '{"where":{"title":{"prefix":"a","in":[]}}}',
  '{"where":{"title":"\\ud800"}}',
  `{"where":{"title":${JSON.stringify("x".repeat(2_000))}}}`,
  `{"where":{"severity":{"in":${JSON.stringify(Array.from({ length: 101 }, (_, n) => n))}}}}`,
];
