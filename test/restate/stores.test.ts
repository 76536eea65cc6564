// Maps, sessions, streams and members on a real server.
import assert from "node:assert/strict";
import { createServer } from "node:http2";
import { after, before, describe, test } from "node:test";
import { systemClock, type Clock, type SessionRow } from "../../src/core/contract/index.ts";
import { isRestateSdk } from "../../src/hosts/restate/sdk.ts";
import { MapClient, shardOf } from "../../src/hosts/restate/map-client.ts";
import { mapObject } from "../../src/hosts/restate/map-object.ts";
import { restateMembers } from "../../src/hosts/restate/members.ts";
import { Names } from "../../src/hosts/restate/names.ts";
import { restateSessionStore } from "../../src/hosts/restate/session-store.ts";
import { streamObject } from "../../src/hosts/restate/stream-object.ts";
import { restateStreamStore } from "../../src/hosts/restate/stream-store.ts";
import { SimulatedClock, until } from "../../src/testing/index.ts";
import { sessionSuite, streamSuite } from "../../src/testing/conformance/index.ts";
import { type Loopback, onLoopback } from "../on-loopback.ts";
import { install } from "./install.ts";
import { RestateServer } from "./restate-server.ts";

let server: RestateServer;
let endpoint: Loopback;

before(async () => {
  const { server: executable, sdk } = await install();
  assert.ok(isRestateSdk(sdk), "the SDK has the shape that is used");
  server = await RestateServer.start(executable);
  const services = [
    mapObject(sdk, new Names()),
    streamObject(sdk),
    streamObject(sdk, { prefix: "bounded-", bounds: { messages: 5, bytes: 1_000, streams: 3 } }),
    streamObject(sdk, { prefix: "brief-", ttlMs: 20 }),
  ];
  endpoint = await onLoopback(createServer(sdk.createEndpointHandler({ services, bidirectional: true, logger: () => {} })));
  await server.register(endpoint.url);
});

after(async () => {
  await server?.[Symbol.asyncDispose]();
  await endpoint?.[Symbol.asyncDispose]();
});

const maps = (more: { readonly clock?: Clock } = {}): MapClient => new MapClient({ ingress: server.ingress, ...more });

let places = 0;

sessionSuite("sessions on a Restate server", {
  durable: true,
  place() {
    const name = `sessions ${places++}`;
    return { open: () => restateSessionStore({ maps: maps(), name }), [Symbol.dispose]() {} };
  },
});

streamSuite("streams on a Restate server", () => {
  const name = `streams ${places++}`;
  return { open: () => restateStreamStore({ ingress: server.ingress, prefix: "bounded-", name }), [Symbol.dispose]() {} };
});

const row = (id: string, more: Partial<SessionRow> = {}): SessionRow => ({
  id,
  protocol: "2025-11-25",
  client: { name: "c", version: "1" },
  capabilities: {},
  subscriptions: [],
  createdAt: 1,
  seenAt: 1,
  ...more,
});

describe("maps on a Restate server", () => {
  test("a map in parts is one map in order", async () => {
    const map = maps().shardedMap("parts", 4);
    const entries = Array.from({ length: 300 }, (_, n) => [`key ${String(n).padStart(3, "0")}`, { n, pad: "x".repeat(500) }] as const);
    assert.equal(await map.putMany(entries), 300);
    assert.equal(await map.putMany(entries.slice(0, 10)), 0);
    assert.equal(await map.put("key 007", { n: 7 }), false);
    assert.equal(await map.put("key", null), true);
    assert.equal(await map.count(), 301);
    assert.deepEqual(await map.get("key 007"), { n: 7 });
    assert.equal(await map.get("key"), null);
    assert.equal(await map.get("nobody"), undefined);
    const names = entries.map(([name]) => name);
    assert.deepEqual(
      (await map.list({ limit: 1_000 })).map(([name]) => name),
      ["key", ...names],
    );
    assert.deepEqual(
      (await map.list({ limit: 20, after: "key 100", prefix: "key 1" })).map(([name]) => name),
      names.slice(101, 121),
    );
    assert.equal(await map.delete("key"), true);
    assert.equal(await map.delete("key"), false);
    assert.deepEqual((await map.take({ before: 295, field: "n" })).toSorted(), names.slice(0, 295));
    assert.equal(await map.count(), 5);
    for (const name of names.slice(290)) await map.delete(name);
    assert.deepEqual(await map.list({ limit: 1_000 }), []);
  });

  test("a list of large values comes in order though each part cuts it short", async () => {
    const map = maps().shardedMap("large", 3);
    const names = Array.from({ length: 24 }, (_, n) => `key ${String(n).padStart(2, "0")}`);
    for (const name of names) await map.put(name, name + "x".repeat(150_000));
    assert.deepEqual(
      (await map.list({ limit: 1_000 })).map(([name]) => name),
      names,
    );
  });

  test("a read sees what was acknowledged before it, through any client", async () => {
    const [one, other] = [maps().shardedMap("seen", 2), maps().shardedMap("seen", 2)];
    await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let n = 0; n < 25; n += 1) {
          await one.put(`key ${caller}`, n);
          assert.equal(await other.get(`key ${caller}`), n);
          assert.equal((await other.list({ prefix: `key ${caller}`, limit: 1 }))[0]?.[1], n);
        }
      }),
    );
  });

  test("reads beside writes that split and join pages find what is not being changed", async () => {
    const map = maps().shardedMap("beside", 1);
    const steady = Array.from({ length: 20 }, (_, n) => [`key ${String(n).padStart(2, "0")}`, "steady"] as const);
    await map.putMany(steady);
    const writer = { done: false };
    const write = async (): Promise<void> => {
      for (let round = 0; round < 2; round += 1) {
        const names = Array.from({ length: 30 }, (_, n) => `key ${String(n % 20).padStart(2, "0")} ${n}`);
        for (const name of names) await map.put(name, "x".repeat(6_000));
        for (const name of names) await map.delete(name);
      }
      writer.done = true;
    };
    const read = async (): Promise<void> => {
      while (!writer.done) {
        const entries = await map.list({ limit: 1_000 });
        assert.deepEqual(
          entries.filter(([, value]) => value === "steady"),
          steady,
        );
        assert.equal(await map.get("key 13"), "steady");
      }
    };
    await Promise.all([write(), read(), read()]);
    assert.equal(await map.count(), 20);
  });

  test("what is wrong is a value, not an attempt that never ends", async () => {
    const ask = async (handler: string, input: unknown): Promise<unknown> => {
      const response = await fetch(`${server.ingress}/troupe-map/wrong/${handler}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(input),
      });
      const answer: unknown = await response.json();
      return Object(Object(answer)["fault"])["code"];
    };
    for (const handler of ["put", "putMany", "patch", "replace", "delete", "take", "get", "list"])
      for (const input of [7, {}, { key: "", value: 1, fields: {} }, { key: "k".repeat(1_025), value: 1, fields: {} }])
        if (handler !== "list" || input === 7) assert.equal(await ask(handler, input), "BAD_ID", handler);
    const deep: unknown = JSON.parse(`${"[".repeat(300)}${"]".repeat(300)}`);
    assert.equal(await ask("put", { key: "key", value: deep }), "BAD_ID");
    assert.equal(await ask("putMany", { entries: [["key", deep]] }), "BAD_ID");
    assert.equal(await ask("patch", { key: "key", fields: { deep } }), "BAD_ID");
    assert.equal(await ask("put", { key: "key", value: "x".repeat(26_000_000) }), "STATE_TOO_LARGE");
    assert.equal(await ask("putMany", { entries: Array.from({ length: 1_001 }, (_, n) => [`${n}`, n]) }), "STATE_TOO_LARGE");
    await assert.rejects(maps().shardedMap("wrong", 1).put("", 1), { name: "EngineError", code: "BAD_ID", applied: false });
  });

  test("writes go on over a kill −9 of the server, each applied once", async () => {
    let pauses = 0;
    const counted: Clock = {
      now: () => systemClock.now(),
      after(ms, run) {
        if (ms <= 1_000) pauses += 1;
        return systemClock.after(ms, run);
      },
    };
    const map = maps({ clock: counted }).shardedMap("killed", 2);
    let news = 0;
    let restarting: Promise<void> | undefined;
    const killAndRestart = async (): Promise<void> => {
      await server.kill();
      await server.restart();
    };
    await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        for (let n = 0; n < 20; n += 1) {
          if (await map.put(`${caller}/${n}`, n)) news += 1;
          if (news >= 60) restarting ??= killAndRestart();
        }
      }),
    );
    await restarting;
    assert.ok(pauses > 0);
    assert.equal(news, 160);
    assert.equal(await map.count(), 160);
    assert.equal((await map.list({ limit: 1_000 })).length, 160);
  });

  test("a server that stays away is given up after a while", async () => {
    const clock = new SimulatedClock();
    // Port 9 is nobody's: every attempt is refused.
    const store = restateSessionStore({ maps: new MapClient({ ingress: "http://127.0.0.1:9", clock, patienceMs: 5_000 }) });
    let ended = false;
    const asked = assert.rejects(store.get("a"), { name: "StoreError", code: "STORE_IO" }).finally(() => {
      ended = true;
    });
    await until("the store gives up", async () => {
      await clock.advance(500);
      return ended;
    });
    await asked;
    assert.equal(clock.pending, 0);
  });

  test("the part of a key is the same for ever", () => {
    assert.deepEqual(
      ["", "a", "key ☃", "\ud800"].map((key) => shardOf("name", 16, key)),
      ["name/2", "name/2", "name/0", "name/12"],
    );
  });
});

test("a touch loses nothing of a put beside it, and brings nothing back", async () => {
  const name = "sessions touched";
  const [one, other] = [restateSessionStore({ maps: maps(), name }), restateSessionStore({ maps: maps(), name })];
  await one.put(row("a"));
  for (let n = 1; n <= 20; n += 1) {
    await Promise.all([one.put(row("a", { subscriptions: [`x://${n}`], seenAt: n })), other.touch("a", 1_000 + n), other.touch("a", n)]);
    assert.deepEqual((await other.get("a"))?.subscriptions, [`x://${n}`]);
  }
  for (let n = 0; n < 10; n += 1) {
    await one.put(row("b"));
    await Promise.all([one.delete("b"), other.touch("b", 2 + n)]);
    assert.equal(await other.get("b"), undefined);
  }
  assert.equal(await one.get("x".repeat(5_000)), undefined);
  await one.touch("x".repeat(5_000), 1);
  await one.delete("");
});

describe("streams of several nodes on a Restate server", () => {
  const open = (prefix?: string) => restateStreamStore({ ingress: server.ingress, ...(prefix !== undefined && { prefix }) });

  test("appends of two nodes to one stream interleave, none is lost, and their ids are in order", async () => {
    const stores = [open(), open()];
    const first = await open().append("shared", "a", "first");
    const sent = await Promise.all(
      Array.from({ length: 8 }, async (_, caller) => {
        const ids: string[] = [];
        for (let n = 0; n < 40; n += 1)
          ids.push((await stores[caller % 2]?.append("shared", "a", { caller, n, pad: "x".repeat(200) })) ?? "");
        return ids;
      }),
    );
    const { messages } = (await open().after("shared", first)) ?? assert.fail();
    assert.equal(messages.length, 320);
    const ids = messages.map(({ id }) => id);
    assert.deepEqual(new Set(ids), new Set(sent.flat()));
    for (const [caller, own] of sent.entries())
      assert.deepEqual(
        messages.filter(({ message }) => Object(message)["caller"] === caller).map(({ id }) => id),
        own,
      );
    const numbers = ids.map((id) => Number(id.split(".")[0]));
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    assert.equal((await open().after("shared", ids[200] ?? ""))?.messages.length, 119);
  });

  const kept = async (service: string): Promise<number> => {
    const response = await fetch(`${server.admin}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: `SELECT key FROM state WHERE service_name = '${service}'` }),
    });
    const answer: unknown = await response.json();
    const rows: unknown = Object(answer)["rows"];
    assert.ok(Array.isArray(rows));
    return rows.length;
  };

  test("what nobody deletes goes by itself, and later ids are never those from before", async () => {
    const store = open("brief-");
    const id = await store.append("left", "a", "x".repeat(20_000));
    await until("the stream is cleared", async () => (await kept("brief-troupe-stream")) === 0);
    assert.equal(await store.after("left", id), undefined);
    const again = await store.append("left", "a", 2);
    assert.ok(Number(again.split(".")[0]) > Number(id.split(".")[0]));
    assert.equal(await store.after("left", id), undefined);
  });

  test("a stream keeps no more than a bounded number of bytes, and what is deleted leaves nothing", async () => {
    const store = open();
    const already = await kept("troupe-stream");
    const ids: string[] = [];
    for (let n = 0; n < 30; n += 1) ids.push(await store.append("much", "a", `${n}${"x".repeat(90_000)}`));
    ids.push(await store.append("much", "a".repeat(2_000), 1), await store.append("much", "a", "x".repeat(1_100_000)));
    assert.equal(new Set(ids).size, 32);
    assert.equal(await store.after("much", ids[0] ?? ""), undefined);
    assert.equal(await store.after("much", ids[30] ?? ""), undefined);
    assert.equal(await store.after("much", ids[29] ?? ""), undefined);
    assert.deepEqual(await store.after("much", ids[31] ?? ""), { stream: "a", messages: [] });
    await store.delete("much");
    assert.equal(await kept("troupe-stream"), already);
  });
});

test("nodes see each other while their leases last, and until they leave", async () => {
  let now = 1_000;
  const clock: Clock = { now: () => now, after: (ms, run) => systemClock.after(ms, run) };
  const members = restateMembers({ maps: maps({ clock }) });
  const [a, b, c] = ["a", "b", "c"].map((letter) => ({ node: letter.repeat(16), url: `http://127.0.0.1:1/${letter}` }));
  assert.ok(a && b && c);
  assert.deepEqual(await members.seen(a, 100), []);
  assert.deepEqual(await members.seen(b, 200), [a]);
  assert.deepEqual(await members.seen(c, 200), [a, b]);
  now += 150;
  assert.deepEqual(await members.seen(b, 200), [c]);
  assert.deepEqual(await members.seen(a, 100), [b, c]);
  await members.left(c.node);
  assert.deepEqual(await members.seen(a, 100), [b]);
});
