import assert from "node:assert/strict";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { verify } from "../../core/chain/index.ts";
import { type ChainEvent, type Clock } from "../../core/contract/index.ts";
import { SimulatedEntropy } from "../../testing/index.ts";
import { tallyKind } from "../../testing/conformance/index.ts";
import { AdminApi } from "./admin-api.ts";
import { GuardedIngress } from "./ingress.ts";
import { MapClient } from "./map-client.ts";
import { Queries } from "./queries.ts";
import { World } from "./world.fixture.ts";
import { onLoopback } from "../../../test/on-loopback.ts";

const ID = "tally/main";
const VIEWER = { principal: "ann", scopes: [] };

/** Time that only passes while something waits. */
class Waiting implements Clock {
  pauses = 0;
  readonly #each: (pause: number) => Promise<void>;
  #now = 0;

  constructor(each: (pause: number) => Promise<void> = async () => undefined) {
    this.#each = each;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    this.#now += ms;
    void this.#each((this.pauses += 1)).then(run);
    return () => undefined;
  }
}

/** Of the map of a kind's actors. */
const SHARDS = 16;

/** Over HTTP, like a server's ingress. */
async function queriesOf(world: World, patience: Clock, onRequest: (handler: string) => void = () => undefined) {
  const server = createServer((request, response) => {
    void (async () => {
      const [object = "", key = "", handler = ""] = (request.url ?? "").slice(1).split("/").map(decodeURIComponent);
      onRequest(handler);
      const input: unknown = JSON.parse(await text(request));
      const answer = await world.ask({ object, key, handler }, input);
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    })();
  });
  const loopback = await onLoopback(server);
  const base = loopback.url;
  const queries = new Queries({
    reads: new GuardedIngress({ ingress: base }),
    names: world.names,
    maps: new MapClient({ ingress: base, entropy: new SimulatedEntropy() }),
    kinds: ["tally", "other"],
    patience,
    admin: new AdminApi(undefined, world.names),
  });
  return {
    queries,
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
}

async function history(queries: Queries, after = 0, each: (n: number) => Promise<unknown> = async () => undefined): Promise<ChainEvent[]> {
  const chain: ChainEvent[] = [];
  for await (const event of queries.history(ID, after)) {
    chain.push(event);
    await each(chain.length);
  }
  return chain;
}

const add = (world: World, settle: boolean): Promise<unknown> => world.call({ to: ID, action: "add", args: null, start: null }, { settle });

void test("C7 history waits for events that have left their actor and are on their way to its archive #cluster.key", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < 50; n += 1) await add(world, false);
  const patience = new Waiting(async (pause) => {
    if (pause === 3) await world.settle();
  });
  await using on = await queriesOf(world, patience);
  const chain = await history(on.queries);
  assert.equal(chain.length, 50);
  assert.equal(verify(chain, { actor: ID }).flaw, undefined);
  assert.equal(patience.pauses, 3);
  for (const after of [1, 16, 31, 32, 33, 49, 50, 51])
    assert.deepEqual(await history(on.queries, after), chain.slice(after), `after ${after}`);
});

void test("events that never arrive are reported as missing", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < 50; n += 1) await add(world, false);
  await using on = await queriesOf(world, new Waiting());
  await assert.rejects(history(on.queries), { code: "STORE_IO", message: /Event 1 of tally\/main/ });
});

void test("law 2: the history of an actor that has new events meanwhile is read to its end, each event once", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 0; n < 50; n += 1) await add(world, true);
  await using on = await queriesOf(world, new Waiting());
  const chain = await history(on.queries, 0, async (n) => {
    if (n % 2 === 0 && n < 90) await add(world, true);
  });
  assert.ok(chain.length > 90);
  assert.deepEqual(chain, await world.chain(ID));
  assert.deepEqual(await history(on.queries, chain.length), []);
});

void test("actors are found by kind, owner and uid, counted, and read; entries that never started are not", async () => {
  const world = new World({ kinds: [tallyKind("tally", { owner: "starter" }), tallyKind("other")] });
  const begin = (to: `${string}/${string}`) => world.call({ to, action: "add", args: null, start: null, viewer: VIEWER });
  for (const id of ["tally/b", "tally/a", "tally/c", "other/x"] as const) await begin(id);
  await world.call({ to: "tally/ben", action: "add", args: null, start: null, viewer: { principal: "ben", scopes: [] } });
  // Entered by a start that was cancelled.
  await world.ask({ object: world.names.map, key: "kind/other/0", handler: "put" }, { key: "other/never", value: null });
  await using on = await queriesOf(world, new Waiting());
  const { queries } = on;
  const ids = async (query: Partial<Parameters<Queries["list"]>[0]>): Promise<readonly string[]> =>
    (await queries.list({ limit: 10, ...query })).map(({ id }) => id);
  assert.deepEqual((await ids({ kind: "tally" })).toSorted(), ["tally/a", "tally/b", "tally/ben", "tally/c"]);
  assert.deepEqual((await ids({ kind: "tally", owner: "ann" })).toSorted(), ["tally/a", "tally/b", "tally/c"]);
  assert.deepEqual(await ids({ kind: "tally", after: "tally/b", limit: 1 }), ["tally/ben"]);
  assert.deepEqual(await ids({ kind: "other" }), ["other/x"]);
  assert.equal((await ids({})).length, 5);
  assert.equal(await queries.count({ kind: "tally" }), 4);
  assert.equal(await queries.count({ kind: "tally", owner: "ann" }), 3);
  assert.equal(await queries.find(world.row("tally/a")?.uid ?? ""), "tally/a");
  assert.equal(await queries.find("missing"), undefined);
  assert.equal((await queries.read("tally/a"))?.owner, "ann");
  assert.equal(await queries.read("tally/never"), undefined);
  assert.equal(await queries.head("other/never"), undefined);
});

void test("C4 the actor that took a keyed call is known for as long as its reply is #cluster.keys", async () => {
  const world = new World({ kinds: [tallyKind("tally"), tallyKind("other")] });
  await world.call({ to: ID, action: "add", args: null, start: null, viewer: VIEWER }, { key: "one" });
  await world.call({ to: ID, action: "refuse", args: null, start: null, viewer: VIEWER }, { key: "two" });
  await using on = await queriesOf(world, new Waiting());
  const taker = (key: string, now = world.now, principal = "ann"): Promise<unknown> =>
    on.queries.keyedCall("tally", { principal, scopes: [] }, key, now);
  assert.equal(await taker("one"), ID);
  assert.equal(await taker("one", world.now + 60_000), undefined);
  assert.equal(await taker("one", world.now, "ben"), undefined);
  assert.equal(await taker("two"), undefined);
});

void test("a history after no whole number, and a list of no whole number, are refused", { timeout: 5_000 }, async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  await add(world, true);
  await using on = await queriesOf(world, new Waiting());
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 0.5]) {
    await assert.rejects(history(on.queries, wrong), { code: "BAD_QUERY", message: "`afterSeq` is a whole number." });
    if (wrong !== Infinity) await assert.rejects(on.queries.list({ limit: wrong }), { code: "BAD_QUERY" });
  }
  assert.equal((await history(on.queries, -1)).length, 1);
});

void test("a short list reads few actors, however many there are", async () => {
  const world = new World({ kinds: [tallyKind("tally")] });
  for (let n = 10; n < 60; n += 1) await world.call({ to: `tally/${n}`, action: "add", args: null, start: null });
  let heads = 0;
  await using stage = await queriesOf(world, new Waiting(), (handler) => (heads += Number(handler === "head")));
  assert.deepEqual(
    (await stage.queries.list({ kind: "tally", limit: 2 })).map(({ id }) => id),
    ["tally/10", "tally/11"],
  );
  assert.ok(heads <= 16, `${heads} were read`);
  for (let n = 10; n < 58; n += 1) await world.stop(`tally/${n}`, "over");
  let pages = 0;
  await using counted = await queriesOf(world, new Waiting(), (handler) => (pages += Number(handler === "list") / SHARDS));
  assert.equal((await counted.queries.list({ kind: "tally", live: true, limit: 5 })).length, 2);
  assert.equal(pages, 3, "pages grow while what they have does not count");
});

void test("the admin API may be below a path, behind a proxy", async () => {
  const world = new World({ kinds: [] });
  const paths: unknown[] = [];
  await using loopback = await onLoopback(
    createServer((request, response) => {
      paths.push(request.url);
      response.end(JSON.stringify({ services: [{ name: "actor-tally" }], rows: [] }));
    }),
  );
  for (const end of ["", "/"]) assert.deepEqual(await new AdminApi(`${loopback.url}/restate${end}`, world.names).kinds(), ["tally"]);
  assert.deepEqual(paths, ["/restate/services", "/restate/services"]);
});
