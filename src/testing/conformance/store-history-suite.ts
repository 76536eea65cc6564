// Owns: the tests of stores about events, lists of actors, and closing. Does not own: opening the store (store-stage.ts).
import assert from "node:assert/strict";
import type { ActorId, Store } from "../../core/contract/index.ts";
import { ChainWriter, messageTo } from "./store-entries.ts";
import { conflict, ids, StillClock, type StoreSuiteOptions, type StoreTests } from "./store-stage.ts";

export function historyTests({ it, survives }: StoreTests, options: StoreSuiteOptions): void {
  const { test } = process.getBuiltinModule("node:test");

  const long = new ChainWriter("door/long");
  survives(
    "any part of a long history is read in order",
    async (store) => {
      const neighbour = new ChainWriter("door/neighbour");
      const commits: Promise<void>[] = [];
      for (let turn = 0; turn < 4_500; turn += 1) {
        commits.push(store.commit(long.id, long.next()));
        if (turn % 3 === 0) commits.push(store.commit(neighbour.id, neighbour.next()));
        if (turn % 500 === 0) await commits.at(-1);
      }
      await Promise.all(commits);
    },
    async (store) => {
      for (const [after, limit] of [
        [0, 1],
        [0, 100],
        [1, 5],
        [62, 3],
        [63, 130],
        [64, 1],
        [2_000, 10],
        [4_094, 4],
        [4_096, 1],
        [4_490, 100],
        [4_499, 5],
        [4_500, 5],
        [9_999, 5],
        [0, 0],
        [5, -1],
      ] as const)
        assert.deepEqual(
          ids(await store.events(long.id, after, limit)),
          ids(long.events.slice(after, Math.max(after, after + limit))),
          `${after} +${limit}`,
        );
      assert.deepEqual((await store.load(long.id))?.tail, long.events.slice(4_496));
      await store.commit(long.id, long.next());
      assert.deepEqual(await store.events(long.id, 4_499, 5), long.events.slice(4_499));
    },
  );

  it("events are found by id and by cause", async (store) => {
    const a = new ChainWriter("room/a");
    const b = new ChainWriter("player/b");
    await store.commit(a.id, a.next());
    const [cause] = ids(a.events);
    assert.ok(cause !== undefined);
    await store.commit(b.id, b.next({ cause }));
    assert.deepEqual(await store.event(cause), a.events[0]);
    assert.deepEqual(await store.caused(cause), b.events);
    await store.commit(b.id, b.next());
    await store.commit(b.id, b.next({ cause }));
    assert.deepEqual(ids(await store.caused(cause)), [b.events[0]?.id, b.events[2]?.id]);
    assert.deepEqual(await store.event(b.head ?? ""), b.events[2]);
    assert.deepEqual(await store.caused(b.head ?? ""), []);
    assert.equal(await store.event("00".repeat(32)), undefined);
    assert.equal(await store.event("'; DROP TABLE event; --"), undefined);
  });

  it("the first effects of one event are returned, up to a bound", async (store) => {
    const a = new ChainWriter("room/a");
    await store.commit(a.id, a.next());
    const [cause] = ids(a.events);
    assert.ok(cause !== undefined);
    await Promise.all(Array.from({ length: 1_005 }, () => store.commit(a.id, a.next({ cause }))));
    assert.deepEqual(ids(await store.caused(cause)), ids(a.events.slice(1, 1_001)));
    assert.deepEqual(await store.event(cause), a.events[0]);
  });

  survives(
    "C7 erasing removes bodies only, and none from the last whole state on #chain.erase",
    async (store) => {
      const a = new ChainWriter("door/erased");
      for (let turn = 0; turn < 40; turn += 1) await store.commit(a.id, a.next());
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 5.5]) {
        await assert.rejects(store.erase(a.id, wrong), { code: "STORE_IO" });
        await assert.rejects(store.events(a.id, wrong, 10), { code: "STORE_IO" });
        await assert.rejects(store.events(a.id, 0, wrong), { code: "STORE_IO" });
      }
      assert.equal(await store.erase(a.id, 5), 4);
      assert.equal(await store.erase(a.id, 5), 0);
      assert.equal(await store.erase(a.id, 1_000), 28);
      assert.equal(await store.erase(a.id, 1_000), 0);
    },
    async (store) => {
      const a = new ChainWriter("door/erased");
      for (let turn = 0; turn < 40; turn += 1) a.next();
      const events = await store.events(a.id, 0, 100);
      assert.deepEqual(ids(events), ids(a.events));
      assert.deepEqual(
        events.map((event) => event.body === undefined),
        a.events.map((_, index) => index < 32),
      );
      assert.deepEqual((await store.load(a.id))?.tail, a.events.slice(32));
      assert.deepEqual(Object.keys((await store.event(a.events[3]?.id ?? "")) ?? {}), ["id", "header"]);
    },
  );

  survives(
    "actors are listed in pages, counted and found by kind, owner, parent and uid",
    async (store) => {
      for (const [index, id] of (["door/a", "door/b", "door-two/a", "room/a", "room/b", "room/c"] as const).entries()) {
        const actor = new ChainWriter(id);
        const row = { ...(index % 2 === 0 ? { owner: "ann" } : {}), ...(id === "room/a" ? {} : { parent: "room/a" as const }) };
        await store.commit(actor.id, actor.next({ row }));
        if (id === "room/c") await store.commit(actor.id, actor.next({ row: { ...row, status: "stopped" } }));
      }
    },
    async (store) => {
      const paged: string[] = [];
      let after: ActorId | undefined;
      for (;;) {
        const page: Awaited<ReturnType<Store["list"]>> = await store.list({ limit: 2, ...(after === undefined ? {} : { after }) });
        paged.push(...page.map(({ id }) => id));
        after = page.at(-1)?.id;
        if (page.length < 2) break;
      }
      assert.deepEqual(paged, ["door/a", "door/b", "door-two/a", "room/a", "room/b", "room/c"], "by kind, then by key");
      assert.deepEqual(
        (await store.list({ kind: "room", limit: 10 })).map(({ id, seq, status }) => [id, seq, status]),
        [
          ["room/a", 1, "live"],
          ["room/b", 1, "live"],
          ["room/c", 2, "stopped"],
        ],
      );
      assert.deepEqual(
        (await store.list({ kind: "room", after: "room/a", limit: 1 })).map(({ id }) => id),
        ["room/b"],
      );
      assert.deepEqual(
        (await store.list({ owner: "ann", kind: "door", limit: 10 })).map(({ id }) => id),
        ["door/a"],
      );
      assert.equal((await store.list({ owner: "ann", limit: 10 })).length, 3);
      const living = async (query: Omit<Parameters<Store["list"]>[0], "limit">): Promise<readonly ActorId[]> =>
        (await store.list({ ...query, live: true, limit: 10 })).map(({ id }) => id);
      assert.deepEqual(await living({ kind: "room" }), ["room/a", "room/b"]);
      assert.deepEqual(await living({ after: "room/a" }), ["room/b"]);
      assert.deepEqual(await living({ owner: "ann", kind: "door" }), ["door/a"]);
      assert.deepEqual(
        [
          await store.count({ live: true }),
          await store.count({ live: true, kind: "room" }),
          await store.count({ live: true, owner: "ann" }),
          await store.count({ live: true, owner: "ann", kind: "room" }),
        ],
        [5, 2, 3, 1],
      );
      assert.equal((await store.list({ limit: 10 }))[0]?.head.length, 64);
      assert.equal(await store.count({}), 6);
      assert.equal(await store.count({ kind: "door" }), 2);
      assert.equal(await store.count({ kind: "nothing" }), 0);
      assert.equal(await store.count({ owner: "ann" }), 3);
      assert.equal(await store.count({ owner: "ann", kind: "room" }), 1);
      assert.deepEqual([...(await store.children("room/a"))].toSorted(), ["door-two/a", "door/a", "door/b", "room/b"]);
      assert.deepEqual(await store.children("door/a"), []);
      assert.equal(await store.find("uid-of-life-of-room/b"), "room/b");
      assert.equal(await store.find("unknown"), undefined);
    },
  );

  survives(
    "another life of a key continues the same chain",
    async (store) => {
      const a = new ChainWriter("door/a", "first");
      await store.commit(a.id, a.next());
      await store.commit(a.id, a.next({ row: { status: "stopped" } }));
      const another = new ChainWriter("door/a", "another");
      await assert.rejects(store.commit(another.id, another.next()), conflict);
      a.life = "second";
      await store.commit(a.id, a.next({ full: true, row: { createdAt: 9_000, muted: true } }));
    },
    async (store) => {
      const stored = await store.load("door/a");
      assert.deepEqual(
        [stored?.seq, stored?.row.life, stored?.row.uid, stored?.row.createdAt, stored?.row.muted, stored?.tail.length],
        [3, "second", "uid-of-second", 9_000, true, 1],
      );
      assert.equal((await store.events("door/a", 0, 10)).length, 3);
      assert.equal(await store.find("uid-of-second"), "door/a");
      assert.equal(await store.count({}), 1);
    },
  );

  it("texts are returned unchanged, whatever their characters", async (store) => {
    const text = "\u0000 \u2028 ☃ \ud83d\ude00 ' \" \\ %00";
    const a = new ChainWriter("door/%00%2F%E2%98%83");
    await store.commit(a.id, a.next({ state: { [text]: [text, "x".repeat(300_000)] }, row: { owner: text, pending: { [text]: text } } }));
    const stored = await store.load(a.id);
    assert.deepEqual(stored?.tail, a.events);
    assert.equal(stored?.row.owner, text);
    assert.deepEqual(stored?.row.pending, { [text]: text });
    await store.enqueue(messageTo(a.id, text, { args: { text } }));
    assert.deepEqual((await store.undelivered(1))[0]?.message, messageTo(a.id, text, { args: { text } }));
  });

  test("a closed store finishes what it was handed and then says that it is closed", async () => {
    using place = options.place();
    const clock = new StillClock();
    const store = await place.open(clock);
    const actor = new ChainWriter("door/a");
    const last = store.commit(actor.id, actor.next());
    await store[Symbol.asyncDispose]();
    await last;
    await store[Symbol.asyncDispose]();
    const closed = { name: "StoreError", code: "STORE_CLOSED" };
    await assert.rejects(store.commit(actor.id, actor.next()), closed);
    await assert.rejects(store.load(actor.id), closed);
    await assert.rejects(store.enqueue(messageTo(actor.id, "m")), closed);
    await assert.rejects(store.count({}), closed);
    if (!options.durable) return;
    await using again = await place.open(clock);
    assert.equal((await again.load(actor.id))?.seq, 1);
  });
}
