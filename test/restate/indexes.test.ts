// Two nodes on a real server: what turns of one change is found by queries and watchers of the other; and how long that takes.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { actor, index } from "../../src/core/actor/index.ts";
import type { ActorId, Engine } from "../../src/core/contract/index.ts";
import { joinCluster } from "../../src/hosts/cluster/index.ts";
import { rowQuery } from "../../src/core/contract/internal.ts";
import { isRestateSdk, RestateEngine, RestateOperator } from "../../src/hosts/restate/index.ts";
import { cast } from "../../src/mcp/source/index.ts";
import { testServer, until } from "../../src/testing/index.ts";
import { at } from "../wire.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

const secret = Buffer.alloc(32, 5);
/** Of the measurement; `LAG=200 npm test -- test/restate/indexes.test.ts` prints more precise figures. */
const ROUNDS = Number(process.env["LAG"] ?? 20);

const incident = actor("incident", {
  description: "An incident.",
  per: "link",
  autoStart: true,
  state: z.object({ title: z.string().default(""), severity: z.number().default(3) }),
  tools: {
    report: {
      description: "Report.",
      input: z.object({ title: z.string(), severity: z.number() }),
      run({ state, args }) {
        state.title = args.title;
        state.severity = args.severity;
      },
    },
    end: { description: "End.", run: ({ stop }) => stop("done") },
  },
});

const bySeverity = index(incident, {
  name: "by-severity",
  pick: ["title", "severity"],
  order: "severity",
  text: ["title"],
  uri: "incidents://all",
  tool: "find_incidents",
});

const report = (engine: Engine, key: string, severity: number): Promise<unknown> =>
  engine.call({ to: incident.id(key), action: "tools/report", args: { title: `incident ${key}`, severity }, start: null });

const shown = async (engine: RestateEngine): Promise<string> =>
  (await engine.query(bySeverity)).items.map(({ key, severity }) => `${key}${severity}`).join(" ");

/** What clients of one node get of an index whose rows the other changes: the rows are those of a2 and b1. */
async function checkClients(other: RestateEngine, engine: RestateEngine): Promise<void> {
  await using served = await testServer(cast({ engine, kinds: [incident], indexes: [bySeverity] }));
  for (const era of ["legacy", "modern"] as const) {
    const client = served.client({ era });
    const tools = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "find_incidents"));
    await client.subscribe("incidents://all");
    await report(other, "a", 5);
    await client.notifications.first("notifications/resources/updated");
    const read = await client.readResource("incidents://all");
    const text = read.contents[0]?.["text"];
    const rows = at(JSON.parse(typeof text === "string" ? text : "{}"), "items");
    assert.deepEqual([at(rows, 0, "key"), at(rows, 1, "severity")], ["b", 5]);
    const found = await client.callTool("find_incidents", { text: "incident", where: { severity: { gte: 2 } }, count: true });
    assert.deepEqual([at(found.structuredContent, "count"), at(found.structuredContent, "items", 0, "key")], [1, "a"]);
    await report(other, "a", 2);
    await until("the row is as before", async () => (await shown(engine)) === "b1 a2");
    await client.close();
  }
}

const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

test("C5 C8 rows of turns on one node are found and heard of on the other, survive both, and their delay is measured #cluster.indexes", async (t) => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk));
  await using server = await RestateServer.start(executable);
  const { ingress, admin } = server;
  const join = async (indexes = [bySeverity]): Promise<{ readonly engine: RestateEngine } & AsyncDisposable> => {
    const engine = await RestateEngine.start({ ingress, admin, sdk, kinds: [incident], indexes, secret });
    const limits = { heartbeatMs: 20, gapMs: 20, forMs: 1_000 };
    const peers = await joinCluster({ secret, url: engine.url, members: engine.members(), limits });
    engine.join(peers, (request, response) => peers.handle(request, response));
    return {
      engine,
      async [Symbol.asyncDispose]() {
        await engine[Symbol.asyncDispose]();
        await peers[Symbol.asyncDispose]();
      },
    };
  };
  await using one = await join();
  await using two = await join();
  await server.register(one.engine.url);
  await report(one.engine, "a", 2);
  await report(two.engine, "b", 1);
  // Two windows: each sees what was reported in either, after the delay.
  for (const { engine } of [one, two]) await until("both rows", async () => (await shown(engine)) === "b1 a2");

  const heard: ActorId[] = [];
  two.engine.watchIndex(bySeverity, ({ id }) => heard.push(id));
  await report(one.engine, "c", 3);
  await until("the other node hears of it", () => heard.includes(incident.id("c")));
  assert.equal(await shown(two.engine), "b1 a2 c3", "what was heard of can be read");
  await one.engine.call({ to: incident.id("c"), action: "tools/end", args: {} });
  await until("its row is deleted", async () => (await shown(two.engine)) === "b1 a2");
  assert.deepEqual(
    (await two.engine.query(bySeverity, { text: "incident a" })).items.map(({ key }) => key),
    ["a"],
  );

  await checkClients(one.engine, two.engine);

  const lags: number[] = [];
  for (let n = 1; n <= ROUNDS; n += 1) {
    const severity = 1_000 + n;
    await report(one.engine, `k${n % 10}`, severity);
    const committed = performance.now();
    while ((await two.engine.query(bySeverity, { where: { severity }, limit: 1 })).items.length === 0);
    lags.push(performance.now() - committed);
  }
  lags.sort((left, right) => left - right);
  t.diagnostic(
    `reply to the change → visible in a query of the other node: p50 ${percentile(lags, 0.5).toFixed(1)} ms, p99 ${percentile(lags, 0.99).toFixed(1)} ms, ${lags.length} changes`,
  );

  await server.kill();
  await server.restart();
  await report(two.engine, "z", 9_999);
  await until("rows are there after a restart", async () => (await shown(one.engine)).endsWith("z9999"));
  assert.deepEqual((await one.engine.indexes.verify("by-severity")).flaws, []);
  // As commands do, without the code of the kinds.
  const operator = await RestateOperator.open({ ingress, admin });
  const [listed] = await operator.indexes();
  assert.equal(listed?.state, "complete");
  const found = await operator.rows(listed, { ...rowQuery({ ...listed, visible: "everyone" }, { where: { title: "incident z" } }) });
  assert.deepEqual(
    found?.rows.map(({ key }) => key),
    ["z"],
  );
  const actors = await operator.index("by-severity", "rebuild");
  assert.equal(actors, 4 + Math.min(10, ROUNDS));
  assert.equal(at(await operator.index("by-severity", "verify"), "flawed"), 0);
  assert.equal((await one.engine.query(bySeverity, { count: true })).count, 3 + Math.min(10, ROUNDS));
});
