// Indexes on Restate without a server: rows follow turns once and in order, whatever is cut and however delayed.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import { type Clock, type Index, type IndexQuery, systemClock } from "../../core/contract/index.ts";
import * as testing from "../../testing/index.ts";
import { cutEverywhere } from "./story.fixture.ts";
import { World } from "./world.fixture.ts";

const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  autoStart: true,
  owner: "starter",
  state: z.object({
    title: z.string().default(""),
    severity: z.number().default(3),
    status: z.enum(["open", "resolved"]).default("open"),
    notes: z.number().default(0),
  }),
  tools: {
    report: {
      description: "Report.",
      input: z.object({ title: z.string(), severity: z.number() }),
      run({ state, args }) {
        state.title = args.title;
        state.severity = args.severity;
      },
    },
    note: { description: "Note.", run: ({ state }) => void (state.notes += 1) },
    resolve: { description: "Resolve.", run: ({ state }) => void (state.status = "resolved") },
    reopen: { description: "Reopen.", run: ({ state }) => void (state.status = "open") },
    end: { description: "End.", run: ({ stop }) => stop("done") },
  },
});

const open = index(incident, {
  name: "open",
  visible: "everyone",
  where: ({ state }) => state.status !== "resolved",
  pick: ["title", "severity"],
  order: "severity",
  text: ["title"],
});

const call = (world: World, key: string, action: string, args: object = {}, settle = true) =>
  world.call(
    { to: incident.id(key), action: `tools/${action}`, args: { ...args }, start: null, viewer: { principal: "ann", scopes: [] } },
    { settle },
  );

const report = (world: World, key: string, severity: number, settle = true) =>
  call(world, key, "report", { title: `incident ${key}`, severity }, settle);

const keys = async (world: World, query: IndexQuery<{ title: string; severity: number }> = {}): Promise<string> =>
  (await world.rows.query(open, query)).items.map(({ key }) => key).join(" ");

const started = async (indexes: readonly Index[] = [open], after?: World): Promise<World> => {
  const world = new World({ kinds: [incident], indexes, ...(after === undefined ? {} : { after }) });
  await world.rows.open();
  return world;
};

test("a query may miss a turn whose row has not arrived, and has it afterwards", async () => {
  const world = await started();
  await report(world, "a", 2, false);
  assert.equal(await keys(world), "");
  await world.settle();
  assert.equal(await keys(world), "a");
  await call(world, "a", "note");
  assert.equal(await keys(world), "a");
});

test("however often a watched index changes, one timer reads it again", async () => {
  const long = new Set<() => void>();
  const patience: Clock = {
    now: () => systemClock.now(),
    after(ms, run) {
      if (ms < 15_000) return systemClock.after(ms, run);
      long.add(run);
      return () => long.delete(run);
    },
  };
  const world = new World({ kinds: [incident], indexes: [open], patience });
  await world.rows.open();
  const seen: string[] = [];
  world.rows.watch(open, ({ id }) => seen.push(id));
  for (let n = 0; n < 10; n += 1) {
    await report(world, `a${n}`, 2);
    await testing.until("the change is known", () => seen.length === n + 1);
    await testing.settle();
  }
  assert.equal(long.size, 1);
  world.rows.close();
  assert.equal(long.size, 0);
});

test("law 4: every cut of a turn that changes rows leaves the same rows, once", async () => {
  const world = await cutEverywhere({
    kinds: [incident],
    options: { indexes: [open] },
    play: async (played) => {
      await played.rows.open();
      await report(played, "a", 2);
      await call(played, "a", "resolve");
      await call(played, "a", "reopen");
      await call(played, "a", "end");
      await report(played, "a", 7);
      return (await played.rows.query(open)).items;
    },
  });
  assert.equal(await keys(world), "a");
});

test("an older change never replaces a newer row, whichever comes first", async () => {
  const world = await started();
  await report(world, "a", 2);
  const part = Object.keys(world.storedKeys("troupe-index/"))
    .find((name) => name.includes(" page/"))
    ?.split("/")[2]
    ?.split(" ")[0];
  const definition: unknown = JSON.parse(world.storedKeys("troupe-index/open/0")["troupe-index/open/0 head"] ?? "{}").definition;
  const change = { key: "a", seq: 0, row: { data: '{"title":"old"}', columns: ["old", 1], text: "old" } };
  const to = { object: world.names.index, key: `open/${part}`, handler: "apply" };
  await world.ask(to, { definition, change });
  assert.equal((await world.rows.query(open)).items[0]?.title, "incident a");
  await call(world, "a", "end");
  await world.ask(to, { definition, change: { ...change, seq: 1 } });
  assert.equal(await keys(world), "", "a row that was deleted does not come back");
});

test("while nodes of two versions run, queries of the older fail, and the newer computes its rows again", async () => {
  const before = await started([]);
  for (let n = 0; n < 10; n += 1) await report(before, `k${n}`, n % 5);
  const world = await started([open], before);
  assert.equal((await world.rows.query(open, { count: true, limit: 1 })).count, 10);
  assert.deepEqual(world.built, [{ index: "open", actors: 10, of: 10, isDone: true }]);
  const changed = index(incident, { name: "open", visible: "everyone", where: ({ state }) => state.severity > 3, pick: ["title"] });
  const next = await started([changed], world);
  assert.equal((await next.rows.query(changed, { count: true, limit: 1 })).count, 2);
  await assert.rejects(world.rows.query(open), { code: "UNAVAILABLE", message: /another definition/u });
  // A node of the older version still runs turns: those rows are computed again by the next query.
  await call(world, "k2", "report", { title: "delayed", severity: 9 });
  assert.equal((await next.rows.list())[0]?.state, "stale");
  assert.deepEqual((await next.rows.query(changed, { where: { title: "delayed" } })).items, [
    { id: "incident/k2", key: "k2", title: "delayed" },
  ]);
  assert.equal((await next.rows.list())[0]?.state, "complete");
});

test("damaged rows are found by verify, and repaired by rebuild", async () => {
  const world = await started();
  for (const key of ["a", "b", "c"]) await report(world, key, 1);
  const definition: unknown = JSON.parse(world.storedKeys("troupe-index/open/0")["troupe-index/open/0 head"] ?? "{}").definition;
  for (let part = 0; part < 4; part += 1)
    await world.ask(
      { object: world.names.index, key: `open/${part}`, handler: "apply" },
      { definition, change: { key: "ghost", seq: 5, row: { data: "{}", columns: [null, null] } } },
    );
  const verdict = await world.rows.verify("open");
  assert.deepEqual(verdict.flaws, [{ id: "incident/ghost", flaw: "unexpected" }]);
  assert.equal(await world.rows.rebuild("open"), 3);
  assert.deepEqual((await world.rows.verify("open")).flaws, []);
  assert.equal(await keys(world), "a b c");
});

test("nodes bring their copies up to date by what changed, and list all rows only once", async () => {
  const world = await started();
  const other = new World({ kinds: [incident], indexes: [open], after: world });
  assert.equal((await other.rows.query(open)).items.length, 0);
  for (let n = 0; n < 40; n += 1) {
    await report(world, `k${n % 7}`, n);
    assert.deepEqual(await other.rows.query(open), await world.rows.query(open));
  }
});
