// The stores on DynamoDB, beyond the contract.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import {
  DescribeTableCommand,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import type { SessionRow } from "troupe/contract";
import { createSessionTables, dynamoSessionStores } from "troupe/dynamo";
import { SimulatedClock } from "troupe/testing";
import { failing } from "./failing.ts";
import { FAKE_CREDENTIALS, startDynamo } from "./tables.ts";

const dynamo = await startDynamo();
after(() => dynamo[Symbol.asyncDispose]());
const MINUTE_MS = 60_000;

const row = (id: string, clock: SimulatedClock, more: Partial<SessionRow> = {}): SessionRow => ({
  id,
  protocol: "2025-11-25",
  client: {},
  capabilities: {},
  subscriptions: [],
  createdAt: clock.now(),
  seenAt: clock.now(),
  ...more,
});

/** Two processes' stores on fresh tables. */
async function two(more: object = {}) {
  const tables = await dynamo.tables();
  const clock = new SimulatedClock();
  const open = () => dynamoSessionStores({ ...tables, clock, env: {}, ...more });
  return { ...tables, clock, a: open(), b: open() };
}
const items = async (TableName: string) => (await dynamo.client.send(new ScanCommand({ TableName }))).Items ?? [];

describe("the tables", () => {
  test("are named by the options, else MCP_SESSION_TABLE and MCP_STREAM_TABLE, else mcp-sessions #apptheory.properties.dynamo", async () => {
    const { client } = dynamo;
    const named = [
      [{}, "mcp-sessions", "mcp-sessions-streams"],
      [{ env: { MCP_SESSION_TABLE: "own" } }, "own", "own-streams"],
      [{ env: { MCP_SESSION_TABLE: "own", MCP_STREAM_TABLE: "sent" }, table: "mine" }, "mine", "sent"],
    ] as const;
    for (const [options, table, streamTable] of named) {
      const given = { client, env: {}, ...options };
      await createSessionTables(given);
      await using stores = dynamoSessionStores({ ...given, clock: new SimulatedClock() });
      const clock = new SimulatedClock();
      await stores.sessions.put(row(`in ${table}`, clock));
      await stores.streams.append(`in ${table}`, "s", 1);
      const key = { sessionId: { S: `in ${table}` } };
      assert.ok((await client.send(new GetItemCommand({ TableName: table, Key: key }))).Item);
      assert.ok((await client.send(new GetItemCommand({ TableName: streamTable, Key: { ...key, item: { S: "head" } } }))).Item);
    }
  });

  test("are billed per request, expire on `expiresAt`, and may exist already", async () => {
    const { table, streamTable } = await dynamo.tables();
    const client = new DynamoDBClient({ endpoint: dynamo.endpoint, region: "local", credentials: FAKE_CREDENTIALS });
    const requests: unknown[] = [];
    client.middlewareStack.add(
      (next, { commandName }) =>
        (args) => {
          if (commandName !== UpdateTimeToLiveCommand.name) return next(args);
          requests.push(args.input);
          return Promise.resolve({ output: { $metadata: {} }, response: undefined });
        },
      { step: "initialize" },
    );
    await createSessionTables({ client, table, streamTable });
    client.destroy();
    const TimeToLiveSpecification = { AttributeName: "expiresAt", Enabled: true };
    assert.deepEqual(
      requests,
      [table, streamTable].map((TableName) => ({ TableName, TimeToLiveSpecification })),
    );
    const { Table: made } = await dynamo.client.send(new DescribeTableCommand({ TableName: table }));
    assert.deepEqual(made?.KeySchema, [{ AttributeName: "sessionId", KeyType: "HASH" }]);
    assert.equal(made?.BillingModeSummary?.BillingMode, "PAY_PER_REQUEST");
  });
});

describe("a session in DynamoDB", () => {
  test("expires 1.1 times its TTL after the last touch, before DynamoDB deletes the item #apptheory.properties.dynamo", async () => {
    const { a, b, clock, client, table } = await two({ env: { MCP_SESSION_TTL_MINUTES: "5" } });
    await a.sessions.put(row("s", clock));
    const { Item: item } = await client.send(new GetItemCommand({ TableName: table, Key: { sessionId: { S: "s" } } }));
    assert.equal(item?.["expiresAt"]?.N, String(clock.now() / 1_000 + 330));
    await clock.advance(4 * MINUTE_MS);
    await b.sessions.touch("s", clock.now());
    await clock.advance(5.5 * MINUTE_MS);
    assert.equal((await a.sessions.get("s"))?.seenAt, clock.now() - 5.5 * MINUTE_MS, "sliding: it was seen since");
    await clock.advance(1_000);
    assert.equal(await a.sessions.get("s"), undefined);
    await a.sessions.touch("s", clock.now());
    assert.equal(await a.sessions.get("s"), undefined, "a touch does not restore it");
    assert.equal(await a.sessions.change?.("s", { logLevel: "debug" }), undefined);
    assert.equal((await items(table)).length, 1);
    await a.sessions.put(row("s", clock));
    assert.ok(await b.sessions.get("s"));
  });

  test("is not found by scanning the table unless that is enabled", async () => {
    const { a, clock, table } = await two();
    await a.sessions.put(row("s", clock));
    assert.deepEqual(await a.sessions.expire(clock.now() + 1), []);
    assert.equal((await items(table)).length, 1);
  });

  test("that is larger than an item is refused, and the stored one stays", async () => {
    const { a, clock } = await two();
    await a.sessions.put(row("s", clock));
    const huge = row("s", clock, { subscriptions: ["x".repeat(400_000)] });
    await assert.rejects(a.sessions.put(huge), { name: "StoreError", code: "STORE_FULL" });
    await assert.rejects(async () => a.sessions.change?.("s", { subscribe: "☃".repeat(140_000) }), { code: "STORE_FULL" });
    assert.deepEqual((await a.sessions.get("s"))?.subscriptions, []);
  });

  test("that something else wrote is ignored, reported once, and may be overwritten", async () => {
    const logged: unknown[] = [];
    const { a, client, table, clock } = await two({ log: (...line: readonly unknown[]) => logged.push(line) });
    const expiresAt = { N: String(clock.now()) };
    const others = {
      go: { createdAt: { S: "2026-01-31T12:00:00Z" }, expiresAt, data: { M: { a: { S: "b" } } } },
      ours: { createdAt: { N: "1" }, seenAt: { N: "1" }, rev: { N: "1" }, expiresAt, data: { S: "{}" } },
      forever: { data: { S: "{}" } },
    };
    for (const [id, item] of Object.entries(others)) {
      await client.send(new PutItemCommand({ TableName: table, Item: { sessionId: { S: id }, ...item } }));
      assert.equal(await a.sessions.get(id), undefined, id);
      assert.equal(await a.sessions.change?.(id, { logLevel: "debug" }), undefined, id);
      await a.sessions.touch(id, clock.now());
      await a.sessions.put(row(id, clock));
      assert.deepEqual(await a.sessions.get(id), row(id, clock), id);
    }
    const text = "An item in DynamoDB is no session of this store: let nothing else write to its tables.";
    assert.deepEqual(logged, [["warning", { event: "session-item-unreadable", code: "STORE_CORRUPT", text }]]);
  });

  test("with an id that cannot be a key is not found", async () => {
    const { a } = await two();
    for (const id of ["", "x".repeat(5_000)]) {
      assert.equal(await a.sessions.get(id), undefined);
      await a.sessions.touch(id, 1);
      await a.sessions.delete(id);
      await a.streams.delete(id);
      assert.equal(await a.streams.after(id, "1.a"), undefined);
    }
  });
});

describe("a sent message in DynamoDB", () => {
  test("is numbered across all streams of a session, from either process #apptheory.later.streams", async () => {
    const { a, b } = await two();
    const ids: string[] = [];
    for (const [store, stream] of [
      [a, "x"],
      [b, "y"],
      [a, "y"],
      [b, "x"],
      [a, "x"],
    ] as const)
      ids.push(await store.streams.append("s", stream, stream));
    const numbers = ids.map((id) => Number.parseInt(id, 10));
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => (numbers[0] ?? 0) + at),
    );
    assert.deepEqual(
      (await b.streams.after("s", ids[0] ?? ""))?.messages.map(({ id }) => id),
      [ids[3], ids[4]],
    );
    assert.equal(await b.streams.after("s", ids[1]?.replace("y", "x") ?? ""), undefined, "an id of another stream is unknown to this one");
  });

  test("of two concurrent processes is stored once and in one order", async () => {
    const { a, b } = await two();
    const first = await a.streams.append("s", "x", 0);
    const sent = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? a : b).streams.append("s", "x", n + 1)));
    const found = (await a.streams.after("s", first))?.messages ?? [];
    assert.deepEqual(found.map(({ id }) => id).toSorted(), sent.toSorted());
    assert.deepEqual(
      found.map(({ message }) => Number(message)).toSorted((x, y) => x - y),
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
  });

  test("is refused by either process after its session was deleted #apptheory.later.streams", async () => {
    for (const end of ["sessions", "streams"] as const) {
      const { a, b, clock, streamTable } = await two();
      await a.sessions.put(row("s", clock));
      const id = await a.streams.append("s", "x", 1);
      await b[end].delete("s");
      for (const store of [a, b]) {
        await assert.rejects(store.streams.append("s", "x", "delayed"), { name: "StoreError", code: "STORE_CONFLICT" });
        assert.equal(await store.streams.after("s", id), undefined);
      }
      await b.streams.delete("s");
      await b.sessions.delete("s");
      assert.equal((await items(streamTable)).length, 1, "only the deletion marker is left, until it expires");
      await a.sessions.put(row("s", clock));
      await clock.advance(1_000);
      const anew = await b.streams.append("s", "x", "anew");
      assert.notEqual(anew, id);
      assert.deepEqual(await a.streams.after("s", anew), { stream: "x", messages: [] });
    }
  });

  test("expires to the second, before DynamoDB deletes it", async () => {
    const { a, b, clock } = await two({ ttlMs: 5 * MINUTE_MS });
    await a.sessions.put(row("s", clock));
    const ids = [await a.streams.append("s", "x", 0), await a.streams.append("s", "x", 1)];
    await clock.advance(3 * MINUTE_MS);
    ids.push(await a.streams.append("s", "x", 2));
    await clock.advance(2 * MINUTE_MS);
    assert.equal((await b.streams.after("s", ids[0] ?? ""))?.messages.length, 2, "in its last second");
    await clock.advance(1_000);
    assert.equal(await b.streams.after("s", ids[0] ?? ""), undefined);
    assert.equal((await b.streams.after("s", ids[1] ?? ""))?.messages.length, 1, "later messages are still there");
    await clock.advance(3 * MINUTE_MS);
    for (const id of ids) assert.equal(await b.streams.after("s", id), undefined);
    ids.push(await a.streams.append("s", "y", 3));
    for (const id of ids.slice(0, 3)) assert.equal(await a.streams.after("s", id), undefined, "also if the session is written to again");
    assert.deepEqual(await b.streams.after("s", ids[3] ?? ""), { stream: "y", messages: [] });
    const numbers = ids.map((id) => Number.parseInt(id, 10));
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((one, other) => one - other),
      "no number is reused",
    );
  });

  test("of an expired session does not appear in the next session with that id", async () => {
    const { a, b, clock } = await two({ ttlMs: 5 * MINUTE_MS });
    await a.sessions.put(row("s", clock));
    await clock.advance(4 * MINUTE_MS);
    const ids = [await a.streams.append("s", "x", "delayed"), await a.streams.append("s", "x", "later")];
    await clock.advance(2 * MINUTE_MS);
    assert.equal(await b.sessions.get("s"), undefined);
    await b.sessions.put(row("s", clock));
    for (const id of ids) assert.equal(await b.streams.after("s", id), undefined);
    const own = await a.streams.append("s", "x", "own");
    assert.deepEqual(await b.streams.after("s", own), { stream: "x", messages: [] });
    for (const id of ids) assert.equal(await b.streams.after("s", id), undefined);
  });

  test("that is larger than an item is numbered but not stored", async () => {
    const { a, b } = await two();
    const first = await a.streams.append("s", "x", 1);
    const long = await a.streams.append("s", "x", "y".repeat(400_000));
    const next = await a.streams.append("s", "x", 2);
    assert.equal(await b.streams.after("s", first), undefined);
    assert.deepEqual((await b.streams.after("s", long))?.messages, [{ id: next, message: 2 }]);
  });

  test("is deleted once twice as many as can be replayed are stored", async () => {
    const { a, streamTable } = await two({ bounds: { messages: 3 } });
    for (let n = 0; n < 20; n += 1) {
      await a.streams.append("s", "x", n);
      assert.ok((await items(streamTable)).length <= 1 + 7);
    }
  });
});

describe("failures of DynamoDB", () => {
  test("missing tables are STORE_IO with advice", async () => {
    await using stores = dynamoSessionStores({ client: dynamo.client, table: "not-there", env: {} });
    await assert.rejects(stores.sessions.get("s"), { name: "StoreError", code: "STORE_IO", message: /createSessionTables/ });
    await assert.rejects(stores.streams.append("s", "x", 1), { code: "STORE_IO" });
  });

  for (const name of ["ThrottlingException", "ProvisionedThroughputExceededException"])
    test(`${name} is retried, and is STORE_IO if it persists`, async () => {
      const { table, streamTable, clock } = await two();
      const fault = failing(dynamo.endpoint, name);
      const stores = dynamoSessionStores({ client: fault.client, table, streamTable, clock });
      fault.times = 1;
      await stores.sessions.put(row("s", clock));
      assert.equal(fault.failed, 1);
      fault.times = Infinity;
      await assert.rejects(stores.sessions.get("s"), { name: "StoreError", code: "STORE_IO", message: /throughput/ });
      fault.client.destroy();
    });

  test("an unreachable endpoint is STORE_IO", async () => {
    const client = new DynamoDBClient({ endpoint: "http://127.0.0.1:1", region: "local", credentials: FAKE_CREDENTIALS, maxAttempts: 1 });
    await using stores = dynamoSessionStores({ client, env: {} });
    await assert.rejects(stores.sessions.get("s"), { name: "StoreError", code: "STORE_IO", message: /out of reach/ });
    client.destroy();
  });

  test("a failed cleanup does not lose the new message", async () => {
    const { table, streamTable, clock, b } = await two();
    const fault = failing(dynamo.endpoint, "ThrottlingException");
    const a = dynamoSessionStores({ client: fault.client, table, streamTable, clock, bounds: { streams: 1 } });
    await a.streams.append("s", "x", 1);
    fault.only = "QueryCommand";
    fault.times = Infinity;
    const id = await a.streams.append("s", "y", 2);
    assert.ok(fault.failed > 0);
    assert.deepEqual(await b.streams.after("s", id), { stream: "y", messages: [] });
    fault.client.destroy();
  });

  test("writes whose answers are lost are applied once", async () => {
    const { table, streamTable, clock, b } = await two();
    const lossy = failing(dynamo.endpoint, "TimeoutError", { applied: true });
    const a = dynamoSessionStores({ client: lossy.client, table, streamTable, clock });
    const losing = async <T>(run: () => Promise<T>): Promise<T> => {
      lossy.times = 1;
      const done = await run();
      assert.equal(lossy.times, 0, "one answer was lost");
      return done;
    };
    await losing(() => a.sessions.put(row("s", clock)));
    await a.streams.append("s", "x", "of an earlier session");
    await a.sessions.delete("s");
    await clock.advance(1);
    lossy.only = "UpdateItemCommand";
    await losing(() => a.sessions.put(row("s", clock)));
    lossy.only = undefined;
    assert.deepEqual((await losing(async () => a.sessions.change?.("s", { subscribe: "x://1" })))?.subscriptions, ["x://1"]);
    const first = await a.streams.append("s", "x", 0);
    const ids: string[] = [];
    for (const n of [1, 2]) ids.push(await losing(() => a.streams.append("s", "x", n)));
    lossy.only = "UpdateItemCommand";
    for (const n of [3, 4]) ids.push(await losing(() => a.streams.append("s", "x", n)));
    assert.deepEqual(
      (await b.streams.after("s", first))?.messages,
      ids.map((id, at) => ({ id, message: at + 1 })),
    );
    lossy.client.destroy();
  });
});
