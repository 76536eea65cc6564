// Indexes on Restate without a server: rows follow turns once and in order, whatever is cut and however late they come.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../core/actor/index.ts";
import type { Index, IndexEvent, IndexQuery } from "../../core/contract/index.ts";
import { until } from "../../testing/index.ts";
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

const call = (world: World, key: string, action: string, args: object = {}, settle = true, principal = "ann") =>
  world.call(
    { to: incident.id(key), action: `tools/${action}`, args: { ...args }, start: null, viewer: { principal, scopes: [] } },
    { settle },
  );

const report = (world: World, key: string, severity: number, settle = true, principal = "ann") =>
  call(world, key, "report", { title: `incident ${key}`, severity }, settle, principal);

const keys = async (world: World, query: IndexQuery<{ title: string; severity: number }> = {}): Promise<string> =>
  (await world.rows.query(open, query)).items.map(({ key }) => key).join(" ");

const started = async (indexes: readonly Index[] = [open], after?: World): Promise<World> => {
  const world = new World({ kinds: [incident], indexes, ...(after === undefined ? {} : { after }) });
  await world.rows.open();
  return world;
};

test("C5 rows follow turns, stops and next lives, in their order, once #cluster.indexes", async () => {
  const world = await started();
  await report(world, "a", 2);
  await report(world, "b c", 1);
  await report(world, "d", 3);
  assert.deepEqual((await world.rows.query(open, { count: true, limit: 2 })).items, [
    { id: "incident/b%20c", key: "b c", title: "incident b c", severity: 1 },
    { id: "incident/a", key: "a", title: "incident a", severity: 2 },
  ]);
  await call(world, "a", "resolve");
  await call(world, "b c", "end");
  await call(world, "d", "note");
  await report(world, "e", 0);
  assert.equal(await keys(world), "e d");
  await report(world, "b c", 9);
  await world.stop(incident.id("e"), "over");
  assert.equal(await keys(world), "d b c");
  await call(world, "a", "reopen");
  assert.equal(await keys(world, { order: "desc" }), "b c d a");
  assert.equal(await keys(world, { text: "incident d" }), "d");
  assert.equal(await keys(world, { where: { severity: { gte: 3 }, title: { prefix: "incident" } } }), "d b c");
  assert.deepEqual(await world.rows.verify("open"), { index: "open", actors: 4, flawed: 0, flaws: [] });
  assert.deepEqual(world.thrown, []);
});

test("a query may miss a turn whose row has not arrived, and has it afterwards", async () => {
  const world = await started();
  await report(world, "a", 2, false);
  assert.equal(await keys(world), "");
  await world.settle();
  assert.equal(await keys(world), "a");
  await call(world, "a", "note");
  assert.equal(await keys(world), "a");
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
  const part = Object.keys(world.kept("troupe-index/"))
    .find((name) => name.includes(" page/"))
    ?.split("/")[2]
    ?.split(" ")[0];
  const definition: unknown = JSON.parse(world.kept("troupe-index/open/0")["troupe-index/open/0 head"] ?? "{}").definition;
  const change = { key: "a", seq: 0, row: { data: '{"title":"old"}', columns: ["old", 1], text: "old" } };
  const to = { object: world.names.index, key: `open/${part}`, handler: "apply" };
  await world.ask(to, { definition, change });
  assert.equal((await world.rows.query(open)).items[0]?.title, "incident a");
  await call(world, "a", "end");
  await world.ask(to, { definition, change: { ...change, seq: 1 } });
  assert.equal(await keys(world), "", "a row that was deleted does not come back");
});

test("an index is built from actors that were there before it, and again after its definition changes", async () => {
  const before = await started([]);
  for (let n = 0; n < 150; n += 1) await report(before, `k${n}`, n % 5);
  await call(before, "k1", "end");
  const world = await started([open], before);
  assert.equal((await world.rows.query(open, { count: true, limit: 1 })).count, 149);
  assert.deepEqual(world.built, [{ index: "open", actors: 150, of: 150, isDone: true }]);
  const changed = index(incident, { name: "open", visible: "everyone", where: ({ state }) => state.severity > 3, pick: ["title"] });
  const next = await started([changed], world);
  assert.equal((await next.rows.query(changed, { count: true, limit: 1 })).count, 30);
  assert.deepEqual((await next.rows.verify("open")).flaws, []);
  assert.equal(await next.rows.rebuild("open"), 150);
  assert.deepEqual(
    (await next.rows.list()).map(({ name, rows, state }) => ({ name, rows, state })),
    [{ name: "open", rows: 30, state: "complete" }],
  );
  await assert.rejects(world.rows.query(open), { code: "UNAVAILABLE", message: /another definition/u });
  // A node of the older version still runs turns: those rows are computed again by the next query.
  await call(world, "k2", "report", { title: "late", severity: 9 });
  assert.equal((await next.rows.list())[0]?.state, "stale");
  assert.deepEqual((await next.rows.query(changed, { where: { title: "late" } })).items, [{ id: "incident/k2", key: "k2", title: "late" }]);
  assert.equal((await next.rows.list())[0]?.state, "complete");
  const none = await started([], next);
  assert.deepEqual(await none.rows.list(), [], "the kind no longer has it");
});

test("damaged rows are found by verify, and repaired by rebuild", async () => {
  const world = await started();
  for (const key of ["a", "b", "c"]) await report(world, key, 1);
  const definition: unknown = JSON.parse(world.kept("troupe-index/open/0")["troupe-index/open/0 head"] ?? "{}").definition;
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

test("C2 C8 watchers hear of rows that queries then show, with owners", async () => {
  const world = await started();
  const events: IndexEvent[] = [];
  await report(world, "a", 1);
  const undo = world.rows.watch(open, (event) => {
    events.push(event);
  });
  await until("what is there", () => events.length === 1);
  await report(world, "b", 1, true, "bob");
  await until("the second", () => events.length === 2);
  await call(world, "a", "note");
  await call(world, "b", "resolve", {}, true, "bob");
  await until("the third", () => events.length === 3);
  undo();
  await report(world, "c", 1);
  assert.deepEqual(events, [
    { id: "incident/a", owner: "ann" },
    { id: "incident/b", owner: "bob" },
    { id: "incident/b", owner: "bob" },
  ]);
  world.rows.close();
});

test("queries see what their viewers may see", async () => {
  const mine = index(incident, { name: "mine", pick: ["title"] });
  const clerks = index(incident, { name: "clerks", pick: ["title"], visible: ({ viewer }) => viewer.scopes.includes("clerk") });
  const world = await started([mine, clerks]);
  await report(world, "a", 1);
  await report(world, "b", 1, true, "bob");
  const seen = async (of: typeof mine, principal: string, scopes: readonly string[] = []): Promise<string> =>
    (await world.rows.query(of, { viewer: { principal, scopes } })).items.map(({ key }) => key).join(" ");
  assert.equal(await seen(mine, "ann"), "a");
  assert.equal(await seen(mine, "eve"), "");
  assert.equal(await seen(clerks, "eve", ["clerk"]), "a b");
  assert.equal(await seen(clerks, "ann"), "");
  await assert.rejects(world.rows.query(open, {}), { code: "UNKNOWN_INDEX" });
});
