// Owns: the tests of every `SessionStore` and `StreamStore`.
import assert from "node:assert/strict";
import type { SessionRow, SessionStore, StreamStore } from "../../core/contract/index.ts";

/** A place where sessions are stored, which a test can open repeatedly. */
export interface SessionPlace extends Disposable {
  open(): SessionStore;
}

/** A place where streams are stored, which a test can open again. */
export interface StreamPlace extends Disposable {
  open(bounds: { readonly messages: number; readonly bytes: number; readonly streams: number }): StreamStore;
}

const session = (id: string, more: Partial<SessionRow> = {}): SessionRow => ({
  id,
  protocol: "2025-11-25",
  client: { name: "c ☃", version: "1" },
  capabilities: { roots: { listChanged: true } },
  subscriptions: [],
  createdAt: 1_000,
  seenAt: 1_000,
  ...more,
});

/** Registers the tests every `SessionStore` passes. `durable`: rows are there when the place is opened again, and can be opened several times at once. */
export function sessionSuite(name: string, options: { readonly durable: boolean; readonly place: () => SessionPlace }): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: SessionStore, again: () => SessionStore) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      await using store = place.open();
      const others: SessionStore[] = [];
      await run(store, () => {
        if (!options.durable) return store;
        const other = place.open();
        others.push(other);
        return other;
      });
      for (const other of others) await other[Symbol.asyncDispose]();
    });
  };
  describe(name, () => {
    it("a session is read as it was put, also by another process #sessions.restart #apptheory.properties.store", async (store, again) => {
      const plain = session("a");
      const whole = session("b", {
        principal: "iss|sub",
        subscriptions: ["x://1", "x://2"],
        logLevel: "debug",
        posture: "static",
        seenAt: 2_000,
      });
      await store.put(plain);
      await store.put(whole);
      const other = again();
      assert.deepEqual(await other.get("a"), plain);
      assert.deepEqual(await other.get("b"), whole);
      assert.equal(await other.get("c"), undefined);
      await other.put({ ...plain, subscriptions: ["y"] });
      assert.deepEqual((await store.get("a"))?.subscriptions, ["y"]);
    });

    it("concurrent changes do not undo each other, and create no session", async (store, again) => {
      if (store.change === undefined) return;
      const other = again();
      assert.equal(await store.change("a", { subscribe: "x://1" }), undefined);
      assert.equal(await store.get("a"), undefined);
      await store.put(session("a", { subscriptions: ["x://0"], logLevel: "info" }));
      const first = session("a", { subscriptions: ["x://0"], logLevel: "debug", listener: "node 1" });
      assert.deepEqual(await store.change("a", { logLevel: "debug", listener: "node 1" }), first);
      assert.deepEqual(await other.get("a"), first);
      const uris = Array.from({ length: 8 }, (_, n) => `y://${n}`);
      await Promise.all([
        ...uris.map((subscribe, n) => (n % 2 === 0 ? store : other).change?.("a", { subscribe })),
        other.change?.("a", { unsubscribe: "x://0" }),
        store.touch("a", 2_000),
        other.change?.("a", { listener: "node 2" }),
      ]);
      const { subscriptions, ...row } = (await store.get("a")) ?? assert.fail();
      assert.deepEqual(subscriptions.toSorted(), uris);
      const { subscriptions: _, ...rest } = session("a", { logLevel: "debug", listener: "node 2", seenAt: 2_000 });
      assert.deepEqual(row, rest);
    });

    it("a touch moves `seenAt` forwards only, and creates no session", async (store) => {
      await store.put(session("a"));
      await store.touch("a", 5_000);
      await store.touch("a", 4_000);
      await store.touch("unknown", 5_000);
      assert.deepEqual(await store.get("a"), session("a", { seenAt: 5_000 }));
      assert.equal(await store.get("unknown"), undefined);
    });

    it("sessions last seen before a time expire, and are named once #sessions.idle", async (store, again) => {
      await store.put(session("old", { seenAt: 10 }));
      await store.put(session("older", { seenAt: 5 }));
      await store.put(session("new", { seenAt: 20 }));
      assert.deepEqual([...(await again().expire(20))].toSorted(), ["old", "older"]);
      assert.deepEqual(await store.expire(20), []);
      assert.equal(await store.get("old"), undefined);
      assert.ok(await store.get("new"));
    });

    it("a deleted session is missing #apptheory.properties.store", async (store) => {
      await store.put(session("a"));
      await store.delete("a");
      await store.delete("a");
      assert.equal(await store.get("a"), undefined);
    });

    it("a closed store says so", async (store) => {
      await store[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
      await assert.rejects(store.get("a"), { name: "StoreError", code: "STORE_CLOSED" });
      await assert.rejects(store.put(session("a")), { code: "STORE_CLOSED" });
    });
  });
}

/** Registers the tests every `StreamStore` passes. */
export function streamSuite(name: string, place: () => StreamPlace): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: StreamStore) => Promise<void>): void => {
    test(title, async () => {
      using where = place();
      await using store = where.open({ messages: 5, bytes: 1_000, streams: 3 });
      await run(store);
    });
  };
  describe(name, () => {
    it("messages after an event of its stream are returned in order, and none of other streams #gateway.http.event-ids", async (store) => {
      const a1 = await store.append("s", "a", { n: 1 });
      await store.append("s", "b ☃/\n", { n: 10 });
      const a2 = await store.append("s", "a", ["☃", null]);
      await store.append("other", "a", { n: 99 });
      const a3 = await store.append("s", "a", "text");
      const b2 = await store.append("s", "b ☃/\n", 2);
      assert.deepEqual(await store.after("s", a1), {
        stream: "a",
        messages: [
          { id: a2, message: ["☃", null] },
          { id: a3, message: "text" },
        ],
      });
      assert.deepEqual(await store.after("s", a3), { stream: "a", messages: [] });
      assert.deepEqual(await store.after("s", b2), { stream: "b ☃/\n", messages: [] });
      assert.equal(new Set([a1, a2, a3, b2]).size, 4);
      for (const id of [a1, a2, a3, b2]) assert.match(id, /^[\x21-\x7e]+$/u);
    });

    it("unknown, foreign and malformed ids are unknown", async (store) => {
      const id = await store.append("s", "a", 1);
      assert.equal(await store.after("another", id), undefined);
      for (const bad of [
        "",
        "1",
        "2.a",
        "0.a",
        "-1.a",
        "1.b",
        "1.%",
        "1.%ff",
        "x".repeat(5_000),
        "1e3.a",
        "99999999999999999.a",
        "1.a'; --",
        "1.__proto__",
      ])
        assert.equal(await store.after("s", bad), undefined, bad);
    });

    it("a stream stores a bounded number of messages, those after the last dropped one", async (store) => {
      const ids: string[] = [];
      for (let n = 0; n < 12; n += 1) ids.push(await store.append("s", "a", n));
      assert.equal(await store.after("s", ids[5] ?? ""), undefined);
      assert.deepEqual(
        (await store.after("s", ids[6] ?? ""))?.messages.map(({ message }) => message),
        [7, 8, 9, 10, 11],
      );
    });

    it("a stream stores a bounded number of bytes", async (store) => {
      const one = await store.append("s", "a", "x".repeat(400));
      const two = await store.append("s", "a", "y".repeat(400));
      const three = await store.append("s", "a", "z".repeat(400));
      assert.equal((await store.after("s", one))?.messages.length, 2);
      const four = await store.append("s", "a", "w".repeat(5_000));
      assert.equal(await store.after("s", three), undefined);
      assert.deepEqual(await store.after("s", four), { stream: "a", messages: [] });
      const five = await store.append("s", "a", 5);
      assert.deepEqual(await store.after("s", four), { stream: "a", messages: [{ id: five, message: 5 }] });
      assert.equal(await store.after("s", two), undefined);
    });

    it("a session stores a bounded number of streams, and drops the least recently written", async (store) => {
      const a = await store.append("s", "a", 1);
      const b = await store.append("s", "b", 1);
      const c = await store.append("s", "c", 1);
      await store.append("s", "a", 2);
      await store.append("t", "z", 1);
      await store.append("s", "d", 1);
      assert.equal(await store.after("s", b), undefined);
      assert.equal((await store.after("s", a))?.messages.length, 1);
      assert.ok(await store.after("s", c));
    });

    it("dropping a stream does not affect others, if the store can drop single ones", async (store) => {
      const a = await store.append("s", "a", 1);
      const b = await store.append("s", "b", 1);
      const other = await store.append("t", "a", 1);
      await store.drop?.("s", "a");
      await store.drop?.("s", "never was");
      if (store.drop !== undefined) assert.equal(await store.after("s", a), undefined);
      assert.ok(await store.after("s", b));
      assert.ok(await store.after("t", other));
    });

    it("deleting a session's streams does not affect others", async (store) => {
      const a = await store.append("s", "a", 1);
      const b = await store.append("t", "a", 1);
      await store.delete("s");
      await store.delete("s");
      assert.equal(await store.after("s", a), undefined);
      assert.ok(await store.after("t", b));
    });

    it("a closed store says so", async (store) => {
      await store[Symbol.asyncDispose]();
      await assert.rejects(store.append("s", "a", 1), { name: "StoreError", code: "STORE_CLOSED" });
      await assert.rejects(store.after("s", "1.a"), { code: "STORE_CLOSED" });
    });
  });
}
