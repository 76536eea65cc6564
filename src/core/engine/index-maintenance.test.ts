import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../actor/index.ts";
import type { Index, Store } from "../contract/index.ts";
import { revertEntry, stateAt } from "../chain/index.ts";
import { memoryStore, sqliteStore } from "../store/index.ts";
import { type IndexProgress, LocalEngine } from "./index.ts";

const state = z.object({
  title: z.string().default(""),
  severity: z.number().default(3),
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
    end: { description: "End.", run: ({ stop }) => stop("done") },
  },
});

const open = index(incident, {
  name: "open",
  pick: ["title", "severity"],
  order: "severity",
});

const call = (engine: LocalEngine, key: string, action: string, args: object = {}) =>
  engine.call({ to: incident.id(key), action: `tools/${action}`, args: { ...args }, start: null });

const report = (engine: LocalEngine, key: string, severity: number) => call(engine, key, "report", { title: `incident ${key}`, severity });

interface Place extends Disposable {
  open(): Store;
}

const onDisk = (): Place => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-indexes-"));
  return { open: () => sqliteStore({ directory }), [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
};

const start = (store: Store | undefined, indexes: readonly Index[] = [open], kinds = [incident]): Promise<LocalEngine> =>
  LocalEngine.start({ kinds, indexes, ...(store === undefined ? {} : { store }) });

test("a build reports its progress #index.rebuilt", async () => {
  const store = memoryStore();
  {
    await using engine = await start(store, []);
    for (let n = 0; n < 300; n += 1) await report(engine, `k${n}`, n % 5);
  }
  const progress: IndexProgress[] = [];
  await using engine = await LocalEngine.start({ kinds: [incident], indexes: [open], store, onIndexProgress: (one) => progress.push(one) });
  assert.equal((await engine.query(open, { count: true, limit: 1 })).count, 300);
  assert.deepEqual(progress, [{ index: "open", actors: 300, of: 300, isDone: true }]);
});

test("what the code of an index throws is reported once, and fails no turn and no query #index.pure", async () => {
  const faults: unknown[] = [];
  const throwing = (): never => {
    throw new Error("no");
  };
  const picky = index(incident, { name: "picky", where: throwing, pick: ["severity"] });
  const hidden = index(incident, { name: "hidden", visible: throwing, pick: ["severity"] });
  await using engine = await LocalEngine.start({
    kinds: [incident],
    indexes: [picky, hidden],
    store: memoryStore(),
    onFault: (error) => faults.push(error),
  });
  assert.deepEqual(await report(engine, "a", 1), { ok: null });
  assert.deepEqual(await report(engine, "a", 2), { ok: null });
  for (let n = 0; n < 2; n += 1) {
    assert.deepEqual((await engine.query(picky)).items, []);
    assert.deepEqual((await engine.query(hidden, { viewer: { scopes: [] } })).items, []);
  }
  assert.equal(faults.length, 2);
});

test("a build reports once that a state could not be migrated, and a rebuild adds its row #index.pure", async () => {
  const store = memoryStore();
  {
    await using engine = await start(store);
    for (const key of ["a", "b", "c"]) await report(engine, key, 1);
  }
  let isMended = false;
  const migrating = actor("incident", {
    description: "An incident.",
    per: "link",
    version: 2,
    state,
    migrate({ state: old }) {
      if (!isMended && JSON.stringify(old).includes("incident b")) throw new Error("no");
      return state.parse(old);
    },
  });
  const faults: unknown[] = [];
  const openAgain = index(migrating, { name: "open", pick: ["severity"] });
  const keys = async (of: LocalEngine): Promise<readonly string[]> => (await of.query(openAgain)).items.map(({ key }) => key);
  await using engine = await LocalEngine.start({ kinds: [migrating], indexes: [openAgain], store, onFault: (error) => faults.push(error) });
  assert.deepEqual(await keys(engine), ["a", "c"]);
  assert.equal(faults.length, 1);
  assert.match(String(faults[0]), /incident\/b has failed \(its state could not be brought to this version\)/);
  isMended = true;
  await engine.indexes.rebuild("open");
  assert.deepEqual(await keys(engine), ["a", "b", "c"]);
});

test("C8 watchers are called before the reply to the turn that changed the row #index.maintained", async () => {
  await using engine = await start(memoryStore());
  const order: string[] = [];
  engine.watchIndex(open, ({ id }) => order.push(id));
  await report(engine, "a", 1).then(() => order.push("reply"));
  assert.deepEqual(order, [incident.id("a"), "reply"]);
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

test("watchers of an index are notified of a revert that changes its row #index.source", async () => {
  await using engine = await start(memoryStore());
  await report(engine, "b", 1);
  await report(engine, "b", 2);
  const rows: unknown[] = [];
  engine.watchIndex(open, ({ id }) => rows.push(id));
  await engine.append(incident.id("b"), (stored) =>
    revertEntry(incident.id("b"), stored, stateAt(stored.tail, 1), { to: 1, reason: "test", messageId: "m", at: 1, seed: "00" }),
  );
  await engine.query(open);
  assert.deepEqual(rows, [incident.id("b")]);
});

const byTitle = index(incident, { name: "by-title", pick: ["title"], order: "title" });

for (const some of [[], [open]])
  test(`a partial engine with ${some.length} of two indexes leaves the other, which is right again when it is served`, async () => {
    using place = onDisk();
    const store = place.open();
    {
      await using engine = await start(store, [open, byTitle]);
      for (const key of ["a", "b", "c"]) await report(engine, key, 1);
      await engine.query(byTitle);
    }
    {
      await using engine = await LocalEngine.start({ kinds: [incident], indexes: some, store, partial: true });
      await report(engine, "a", 5);
      await call(engine, "b", "report", { title: "zero", severity: 2 });
      await call(engine, "c", "end");
      const named = (await engine.indexes.list()).map(({ name }) => name);
      assert.deepEqual(named, ["by-title", "open"]);
    }
    await using engine = await start(store, [open, byTitle]);
    assert.deepEqual(
      (await engine.query(byTitle)).items.map(({ title }) => title),
      ["incident a", "zero"],
    );
    assert.deepEqual(
      (await engine.query(open)).items.map(({ severity }) => severity),
      [2, 5],
    );
  });

test("a partial engine that lacks an index of a kind notifies watchers of another one before the reply", async () => {
  const store = memoryStore();
  {
    await using engine = await start(store, [open, byTitle]);
    await report(engine, "a", 1);
  }
  await using engine = await LocalEngine.start({ kinds: [incident], indexes: [open], store, partial: true });
  const order: string[] = [];
  engine.watchIndex(open, ({ id }) => order.push(id));
  await report(engine, "a", 5).then(() => order.push("reply"));
  assert.deepEqual(order, [incident.id("a"), "reply"]);
  assert.deepEqual(
    (await engine.query(open)).items.map(({ severity }) => severity),
    [5],
  );
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
    forkEntry(events, { to: incident.id("b"), origin: {}, life: crypto.randomUUID(), messageId: "m", at: 1, seed: "00".repeat(16) }),
  );
  assert.deepEqual(
    (await engine.query(open)).items.map(({ key }) => key),
    ["a", "b"],
  );
});
