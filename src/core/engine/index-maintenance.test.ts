import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../actor/index.ts";
import type { Index, IndexEvent, Store } from "../contract/index.ts";
import { revertEntry, stateAt } from "../chain/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { type IndexProgress, LocalEngine } from "./index.ts";

const state = z.object({
  title: z.string().default(""),
  severity: z.number().default(3),
  status: z.enum(["open", "resolved"]).default("open"),
  notes: z.array(z.string()).default([]),
  tags: z.array(z.string()).default([]),
});

const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  autoStart: true,
  state,
  tools: {
    report: {
      description: "Report.",
      input: z.object({ title: z.string(), severity: z.number() }),
      run({ state: draft, args }) {
        draft.title = args.title;
        draft.severity = args.severity;
      },
    },
    note: {
      description: "Note.",
      input: z.object({ text: z.string() }),
      run({ state: draft, args }) {
        draft.notes.push(args.text);
      },
    },
    resolve: {
      description: "Resolve.",
      run({ state: draft }) {
        draft.status = "resolved";
      },
    },
    end: { description: "End.", run: ({ stop }) => stop("done") },
  },
});

const open = index(incident, {
  name: "open",
  where: ({ state: now }) => now.status !== "resolved",
  pick: ["title", "severity", "tags"],
  order: "severity",
});

const call = (engine: LocalEngine, key: string, action: string, args: object = {}, principal?: string) =>
  engine.call({
    to: incident.id(key),
    action: `tools/${action}`,
    args: { ...args },
    start: null,
    ...(principal === undefined ? {} : { viewer: { principal, scopes: [] } }),
  });

const report = (engine: LocalEngine, key: string, severity: number, title = `incident ${key}`) =>
  call(engine, key, "report", { title, severity });

interface Place extends Disposable {
  open(): Store;
}

const onDisk = (): Place => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-indexes-"));
  return { open: () => sqliteStore({ directory }), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
};

const inMemory = (): Place => ({ open: () => memoryStore(), [Symbol.dispose]: () => undefined });

const start = (store: Store | undefined, indexes: readonly Index[] = [open], kinds = [incident]): Promise<LocalEngine> =>
  LocalEngine.start({ kinds, indexes, ...(store === undefined ? {} : { store }) });

for (const [name, place] of [
  ["SQLite", onDisk],
  ["memory", inMemory],
] as const) {
  test(`an index over actors on ${name} follows their turns, their stops and their next lives #index.maintained`, async () => {
    using where = place();
    await using store = where.open();
    await using engine = await start(store);
    for (const [key, severity] of [
      ["a", 2],
      ["b c", 1],
      ["d", 3],
    ] as const)
      await report(engine, key, severity);
    assert.deepEqual(await engine.query(open), {
      items: [
        { id: "incident/b%20c", key: "b c", title: "incident b c", severity: 1, tags: [] },
        { id: "incident/a", key: "a", title: "incident a", severity: 2, tags: [] },
        { id: "incident/d", key: "d", title: "incident d", severity: 3, tags: [] },
      ],
    });
    await call(engine, "a", "resolve");
    await call(engine, "b c", "end");
    await call(engine, "d", "note", { text: "x" });
    await report(engine, "e", 0);
    assert.deepEqual(
      (await engine.query(open)).items.map(({ key }) => key),
      ["e", "d"],
    );
    await report(engine, "b c", 9);
    await engine.stop(incident.id("e"), "stopped");
    assert.deepEqual(
      (await engine.query(open)).items.map(({ key }) => key),
      ["d", "b c"],
    );
    assert.deepEqual(await engine.indexes.verify("open"), { index: "open", actors: 4, flawed: 0, flaws: [] });
  });

  test(`words of an index on ${name} are searched, as turns change them #index.text`, async () => {
    using where = place();
    const texts = index(incident, { name: "texts", pick: ["severity"], order: "severity", text: ["title", "notes"] });
    {
      await using store = where.open();
      await using engine = await start(store, [texts]);
      await report(engine, "a", 2, "The disk is full");
      await report(engine, "b", 1, "Printer on fire");
      await report(engine, "c", 3, "Full moon");
      await call(engine, "b", "note", { text: "The DISK of the printer, too" });
      await call(engine, "c", "note", { text: "x".repeat(2_000) });
      const found = async (text: string, more: object = {}): Promise<string> =>
        (await engine.query(texts, { text, ...more })).items.map(({ key }) => key).join("");
      assert.equal(await found("disk"), "ba");
      assert.equal(await found("disk", { order: "desc", limit: 1 }), "a");
      assert.equal(await found("disk", { where: { severity: { gte: 2 } } }), "a");
      assert.equal(await found('full "the disk"'), "a");
      assert.equal(await found("print*"), "b");
      // It changes no picked member.
      await call(engine, "c", "note", { text: "disk at last" });
      assert.equal(await found("disk"), "bac");
      const first = await engine.query(texts, { text: "disk", limit: 2, count: true });
      assert.equal(first.count, 3);
      assert.ok(first.next);
      assert.equal(await found("disk", { cursor: first.next }), "c");
      await report(engine, "a", 2, "Solved");
      await call(engine, "b", "end");
      assert.equal(await found("disk"), "c");
      for (const text of ["", "a*", '"open', "x".repeat(600)]) await assert.rejects(found(text), { code: "BAD_QUERY" }, text);
      assert.deepEqual(await engine.indexes.verify("texts"), { index: "texts", actors: 3, flawed: 0, flaws: [] });
      assert.equal(await engine.indexes.rebuild("texts"), 3);
      assert.equal(await found("disk"), "c");
    }
    await using store = where.open();
    const notes = index(incident, { name: "texts", pick: ["severity"], text: ["notes"] });
    await using engine = await start(store, [notes]);
    const { items } = await engine.query(notes, { text: "full" });
    assert.deepEqual(items, [], "titles are searched no more");
    await using without = await start(memoryStore());
    await assert.rejects(without.query(open, { text: "disk" }), { code: "BAD_QUERY", message: /has no full text/u });
  });

  test(`pages, filters, counts and cursors of an index on ${name} #index.query`, async () => {
    using where = place();
    await using store = where.open();
    await using engine = await start(store);
    await Promise.all(Array.from({ length: 25 }, (_, n) => report(engine, `k${n}`, n % 5, `t${n}`)));
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ;) {
      const page = await engine.query(open, { limit: 7, order: "desc", count: true, ...(cursor === undefined ? {} : { cursor }) });
      assert.equal(page.count, 25);
      seen.push(...page.items.map(({ key }) => key));
      pages += 1;
      cursor = page.next;
      if (cursor === undefined) break;
    }
    assert.equal(pages, 4);
    assert.equal(new Set(seen).size, 25);
    assert.deepEqual(
      (await engine.query(open, { where: { severity: { gte: 3 }, title: { prefix: "t1" } } })).items.map(({ title }) => title),
      ["t13", "t18", "t14", "t19"],
    );
    assert.equal((await engine.query(open, { where: { severity: { in: [0, 4] } }, count: true, limit: 1 })).count, 10);
  });
}

test("queries from outside are checked, and say what to do #index.bounds", async () => {
  await using engine = await start(memoryStore());
  await report(engine, "a", 1);
  await report(engine, "b", 1);
  const bad = { name: "EngineError", code: "BAD_QUERY" };
  const query = (given: string): Promise<unknown> => engine.query(open, JSON.parse(given));
  for (const given of [
    '{"limit":0}',
    '{"limit":1001}',
    '{"limit":1.5}',
    '{"order":"up"}',
    '{"cursor":"x"}',
    '{"cursor":5}',
    '{"count":"yes"}',
    '{"where":[]}',
    '{"where":{"status":"open"}}',
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
  ])
    await assert.rejects(query(given), bad, given);
  const { next } = await engine.query(open, { limit: 1 });
  assert.ok(next);
  await assert.rejects(engine.query(open, { cursor: next, order: "desc" }), bad);
  const other = index(incident, { name: "other", pick: ["title"] });
  await assert.rejects(engine.query(other), { code: "UNKNOWN_INDEX" });
});

test("an index is built from actors that were there before it, and again after its definition changes #index.rebuilt", async () => {
  using where = onDisk();
  {
    await using store = where.open();
    await using engine = await start(store, []);
    for (let n = 0; n < 300; n += 1) await report(engine, `k${n}`, n % 5);
  }
  {
    await using store = where.open();
    const progress: IndexProgress[] = [];
    await using engine = await LocalEngine.start({
      kinds: [incident],
      indexes: [open],
      store,
      onIndexProgress: (one) => progress.push(one),
    });
    assert.equal((await engine.query(open, { count: true, limit: 1 })).count, 300);
    assert.deepEqual(progress, [{ index: "open", actors: 300, of: 300, isDone: true }]);
  }
  const changed = index(incident, { name: "open", where: ({ state: now }) => now.severity > 3, pick: ["title"] });
  {
    await using store = where.open();
    await using engine = await start(store, [changed]);
    assert.equal((await engine.query(changed, { count: true, limit: 1 })).count, 60);
    assert.deepEqual((await engine.indexes.verify("open")).flaws, []);
    assert.equal(await engine.indexes.rebuild("open"), 300);
  }
  await using store = where.open();
  await using engine = await start(store, []);
  assert.deepEqual(await engine.indexes.list(), [], "the kind no longer has it");
});

test("after a revert only the row of that actor is computed again #index.rebuilt", async () => {
  using where = onDisk();
  await using store = where.open();
  const computed: string[] = [];
  const watched = index(incident, {
    name: "watched",
    pick: ["severity"],
    where: ({ key }) => {
      computed.push(key);
      return true;
    },
  });
  await using engine = await start(store, [watched]);
  for (const key of ["a", "b", "c"]) await report(engine, key, 1);
  await report(engine, "b", 2);
  computed.length = 0;
  await engine.append(incident.id("b"), (stored) =>
    revertEntry(incident.id("b"), stored, stateAt(stored.tail, 1), { to: 1, reason: "test", messageId: "m", at: 1, seed: "00" }),
  );
  const { items } = await engine.query(watched);
  assert.deepEqual(
    items.map(({ severity }) => severity),
    [1, 1, 1],
  );
  assert.deepEqual(computed, ["b"]);
});

test("turns during a build are in the index #index.rebuilt", async () => {
  using where = onDisk();
  {
    await using store = where.open();
    await using engine = await start(store, []);
    await Promise.all(Array.from({ length: 500 }, (_, n) => report(engine, `k${n}`, 1)));
  }
  await using store = where.open();
  await using engine = await start(store);
  const turns = Array.from({ length: 500 }, (_, n) => (n % 3 === 0 ? call(engine, `k${n}`, "resolve") : report(engine, `k${n}`, n)));
  await Promise.all(turns);
  assert.deepEqual(await engine.indexes.verify("open"), { index: "open", actors: 500, flawed: 0, flaws: [] });
  assert.equal((await engine.query(open, { count: true })).count, 333);
});

test("an index is rebuilt through `migrate` when its kind gets another version #index.rebuilt", async () => {
  using where = onDisk();
  const kindOf = (version: number) =>
    actor("note", {
      description: "A note.",
      per: "link",
      autoStart: true,
      version,
      state: z.object({ text: z.string().default("first") }),
      migrate: () => ({ text: `of version ${version}` }),
      tools: {
        poke: {
          description: "Poke.",
          run({ state: draft }) {
            draft.text += ".";
          },
        },
      },
    });
  for (const version of [1, 2]) {
    const note = kindOf(version);
    const texts = index(note, { pick: ["text"] });
    await using store = where.open();
    await using engine = await LocalEngine.start({ kinds: [note], indexes: [texts], store });
    if (version === 1) await engine.call({ to: note.id("a"), action: "tools/poke", args: {}, start: null });
    const before = await engine.query(texts);
    assert.deepEqual(
      before.items.map(({ text }) => text),
      [version === 1 ? "first." : "of version 2"],
    );
    await engine.call({ to: note.id("a"), action: "tools/poke", args: {} });
    assert.deepEqual((await engine.indexes.verify("note")).flaws, []);
  }
});

test("actors in memory and on disk of one kind are in one order #index.memory", async () => {
  await using engine = await start(memoryStore());
  for (const [key, severity, persistence] of [
    ["a", 3, "memory"],
    ["b", 1, "disk"],
    ["c", 2, "memory"],
    ["d", 4, "disk"],
  ] as const)
    await engine.call({
      to: incident.id(key),
      action: "tools/report",
      args: { title: key, severity },
      start: null,
      policy: { persistence },
    });
  const first = await engine.query(open, { limit: 3, count: true });
  assert.deepEqual([first.items.map(({ key }) => key), first.count], [["b", "c", "a"], 4]);
  assert.ok(first.next);
  assert.deepEqual(
    (await engine.query(open, { limit: 3, cursor: first.next })).items.map(({ key }) => key),
    ["d"],
  );
  await call(engine, "a", "end");
  assert.equal((await engine.query(open, { count: true })).count, 3);
});

test("an index of actors in memory needs no store", async () => {
  const door = actor("door", {
    description: "A door.",
    persistence: "memory",
    state: z.object({ open: z.boolean().default(false) }),
    tools: {
      toggle: {
        description: "Toggle.",
        run({ state: draft }) {
          draft.open = !draft.open;
        },
      },
    },
  });
  const doors = index(door, { where: ({ state: now, key }) => now.open && key !== "x", pick: ["open"] });
  await using engine = await LocalEngine.start({ kinds: [door], indexes: [doors] });
  for (const key of ["a", "b", "x"]) await engine.call({ to: door.id(key), action: "tools/toggle", args: {}, start: null });
  assert.deepEqual((await engine.query(doors, { where: { open: true } })).items, [
    { id: "door/a", key: "a", open: true },
    { id: "door/b", key: "b", open: true },
  ]);
});

test("an owner sees its own actors, a role all or none #index.visible", async () => {
  const order = actor("order", {
    description: "An order.",
    per: "link",
    autoStart: true,
    owner: "starter",
    state: z.object({ total: z.number().default(0) }),
    tools: {
      add: {
        description: "Add.",
        run({ state: draft }) {
          draft.total += 1;
        },
      },
    },
  });
  const mine = index(order, { name: "mine", pick: ["total"] });
  const clerks = index(order, { name: "clerks", pick: ["total"], visible: ({ viewer }) => viewer.scopes.includes("clerk") });
  const broken = index(order, {
    name: "broken",
    pick: ["total"],
    visible: () => {
      throw new Error("no");
    },
  });
  const faults: unknown[] = [];
  await using engine = await LocalEngine.start({
    kinds: [order],
    indexes: [mine, clerks, broken],
    store: memoryStore(),
    onFault: (error) => faults.push(error),
  });
  const events: IndexEvent[] = [];
  engine.watchIndex(mine, (event) => events.push(event));
  for (const [key, principal] of [
    ["a", "ann"],
    ["b", "bob"],
  ] as const)
    await engine.call({ to: order.id(key), action: "tools/add", args: {}, start: null, viewer: { principal, scopes: [] } });
  const keys = async (of: typeof mine, principal: string | undefined, scopes: readonly string[] = []) =>
    (await engine.query(of, { viewer: { ...(principal === undefined ? {} : { principal }), scopes } })).items.map(({ key }) => key);
  assert.deepEqual(await keys(mine, "ann"), ["a"]);
  assert.deepEqual(await keys(mine, "eve"), []);
  assert.deepEqual(await keys(mine, undefined), []);
  assert.deepEqual(await keys(clerks, "eve", ["clerk"]), ["a", "b"]);
  assert.deepEqual(await keys(clerks, "ann"), []);
  assert.deepEqual(await keys(broken, "ann"), []);
  assert.equal(faults.length, 1);
  assert.equal((await engine.query(mine, { count: true })).count, 2, "without a viewer: all");
  assert.deepEqual(events, [
    { id: "order/a", owner: "ann" },
    { id: "order/b", owner: "bob" },
  ]);
});

test("an index whose `where` throws has no row, fails no turn, and is reported once #index.pure", async () => {
  const faults: unknown[] = [];
  const picky = index(incident, {
    name: "picky",
    where: ({ state: now }) => {
      if (now.severity > 5) throw new Error("too severe");
      return true;
    },
    pick: ["severity"],
  });
  await using engine = await LocalEngine.start({
    kinds: [incident],
    indexes: [picky],
    store: memoryStore(),
    onFault: (error) => faults.push(error),
  });
  await report(engine, "a", 1);
  assert.deepEqual(await report(engine, "a", 9), { ok: null });
  await report(engine, "b", 9);
  assert.deepEqual((await engine.query(picky)).items, []);
  assert.equal(faults.length, 1);
  assert.equal((await engine.indexes.verify("picky")).flawed, 0);
});

test("long texts are cut, and large lists left out #index.bounds", async () => {
  await using engine = await start(memoryStore());
  await report(engine, "a", 1, `${"x".repeat(1_023)}\u{1F600}`);
  const { items } = await engine.query(open, { where: { title: { prefix: "xxx" } } });
  assert.equal(items[0]?.title, "x".repeat(1_023));
});

test("indexes that cannot be are refused at start", async () => {
  const store = memoryStore();
  await assert.rejects(start(store, [open, index(incident, { name: "open", pick: ["title"] })]), { code: "NAME_COLLISION" });
  const door = actor("door", { description: "A door.", state: z.object({ n: z.number().default(0) }) });
  await assert.rejects(start(store, [index(door, { pick: ["n"] })]), { code: "UNKNOWN_KIND" });
  const given: readonly Index[] = JSON.parse('[{"name":"x"}]');
  await assert.rejects(start(store, given), { code: "BAD_OPTION" });
});

test("a stale index is rebuilt by the next query #index.rebuilt", async () => {
  using where = onDisk();
  await using store = where.open();
  await using engine = await start(store);
  await report(engine, "a", 1);
  const other = await store.load(incident.id("a"));
  assert.ok(other);
  // As a fork by the command line: an entry that was not made by the engine.
  const { forkEntry } = await import("../chain/index.ts");
  const events = await store.events(incident.id("a"), 0, 10);
  await store.commit(
    incident.id("b"),
    forkEntry(events, { to: incident.id("b"), life: crypto.randomUUID(), messageId: "m", at: 1, seed: "00".repeat(16) }),
  );
  assert.deepEqual(
    (await engine.query(open)).items.map(({ key }) => key),
    ["a", "b"],
  );
});
