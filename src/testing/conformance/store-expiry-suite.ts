// Owns: the tests of stores about what expires or ends: keyed replies, ended actors, timers. Does not own: opening the store (store-stage.ts).
import assert from "node:assert/strict";
import type { DuePlace, Store } from "../../core/contract/index.ts";
import { ChainWriter, messageTo } from "./store-entries.ts";
import { ids, type StoreTests } from "./store-stage.ts";

export function expiryTests({ it, survives }: StoreTests): void {
  survives(
    "C4 the first reply to a key is remembered, by actor and key #engine.c4",
    async (store) => {
      const a = new ChainWriter("door/a");
      const b = new ChainWriter("door/b");
      await store.commit(a.id, a.next({ remember: { key: "p|1", call: "c", reply: { ok: { n: 1 } }, until: 11_000 } }));
      await store.commit(b.id, b.next({ remember: { key: "p|1", call: "other", reply: { ok: 2 }, until: 11_000 } }));
      await store.commit(
        a.id,
        a.next({
          remember: { key: "p|2", call: "c", reply: { refused: { code: "X", message: "no" } }, until: 11_000 },
          answered: [
            { key: "slow|1", call: "c", reply: { ok: "l1" }, until: 11_000 },
            { key: "slow|2", call: "c", reply: { ok: "l2" }, until: 11_000 },
          ],
        }),
      );
    },
    async (store) => {
      assert.deepEqual(await store.remembered("door/a", "p|1"), { call: "c", reply: { ok: { n: 1 } } });
      assert.deepEqual(await store.remembered("door/b", "p|1"), { call: "other", reply: { ok: 2 } });
      assert.deepEqual(await store.remembered("door/a", "p|2"), { call: "c", reply: { refused: { code: "X", message: "no" } } });
      assert.deepEqual(await store.remembered("door/a", "slow|1"), { call: "c", reply: { ok: "l1" } });
      assert.deepEqual(await store.remembered("door/a", "slow|2"), { call: "c", reply: { ok: "l2" } });
      assert.equal(await store.remembered("door/a", "p|3"), undefined);
    },
  );

  survives(
    "C4 the actors that took a call of a key are found by it, latest first, pending or remembered",
    async (store) => {
      const a = new ChainWriter("door/a");
      const b = new ChainWriter("room/b");
      await store.commit(a.id, a.next({ claimed: { key: "p|1", call: "c", until: 11_000 } }));
      await store.commit(b.id, b.next({ remember: { key: "p|1", call: "c", reply: { ok: 2 }, until: 11_001 } }));
      await store.commit(a.id, a.next({ claimed: { key: "p|2", call: "c", until: 11_000 } }));
      await store.commit(a.id, a.next({ answered: [{ key: "p|2", call: "second", reply: { ok: 3 }, until: 11_000 }] }));
    },
    async (store) => {
      assert.deepEqual(await store.claimants("p|1"), ["room/b", "door/a"]);
      assert.deepEqual(await store.claimants("p|2"), ["door/a"]);
      assert.deepEqual(await store.claimants("p|3"), []);
      assert.equal(await store.remembered("door/a", "p|1"), undefined, "its reply is due");
      assert.deepEqual(await store.remembered("door/a", "p|2"), { call: "second", reply: { ok: 3 } });
    },
  );

  const ended = async (store: Store, query: Partial<Parameters<Store["ended"]>[0]> = {}): Promise<readonly string[]> => {
    const found: string[] = [];
    for (let after: string | undefined; ;) {
      const page = await store.ended({ before: 1_000_000, limit: 2, ...query, ...(after === undefined ? {} : { after }) });
      found.push(...page.ended.map(({ id, seq, endedAt }) => `${id} ${seq} ${endedAt}`));
      if (page.next === undefined) return found;
      after = page.next;
    }
  };
  const stopped = { row: { status: "stopped" as const } };

  survives(
    "ended actors are listed in pages, by the time of their last event",
    async (store) => {
      for (const id of ["door/a", "door/b", "door/c", "room/a", "door/d", "room/b"] as const) {
        const actor = new ChainWriter(id);
        await store.commit(actor.id, actor.next({ at: 2_000 }));
        // Its last message is long ago, as for an idle actor that is stopped.
        if (!id.endsWith("b")) await store.commit(actor.id, actor.next({ at: 5_000, row: { status: "stopped", lastMessageAt: 2_000 } }));
      }
    },
    async (store) => {
      assert.deepEqual(await ended(store), ["door/a 2 5000", "door/c 2 5000", "door/d 2 5000", "room/a 2 5000"]);
      assert.deepEqual(await ended(store, { limit: 1 }), await ended(store, { limit: 100 }));
      assert.deepEqual(await ended(store, { kind: "room" }), ["room/a 2 5000"]);
      assert.deepEqual(await ended(store, { before: 5_000 }), []);
      assert.deepEqual(await ended(store, { before: 5_001, kind: "door" }), ["door/a 2 5000", "door/c 2 5000", "door/d 2 5000"]);
    },
  );

  const finished = new ChainWriter("door/finished");
  const other = new ChainWriter("door/other");
  survives(
    "an ended actor is removed completely, and data of others stays",
    async (store) => {
      await store.commit(finished.id, finished.next({ row: { owner: "ann", parent: "home/h" } }));
      for (let turn = 0; turn < 300; turn += 1) await store.commit(finished.id, finished.next());
      await store.commit(other.id, other.next({ cause: finished.head ?? "" }));
      await store.commit(
        finished.id,
        finished.next({
          cause: other.head ?? "",
          out: [messageTo("door/other", "m.1")],
          remember: { key: "k", call: "c", reply: { ok: 1 }, until: 99_000 },
        }),
      );
      await store.commit(finished.id, finished.next({ row: { owner: "ann", parent: "home/h", status: "stopped" } }));
      assert.deepEqual(ids(await store.caused(other.head ?? "")), [finished.events[301]?.id]);
      assert.equal(await store.remove({ id: finished.id, head: finished.head ?? "" }), true);
    },
    async (store) => {
      assert.equal(await store.load(finished.id), undefined);
      assert.deepEqual(await store.events(finished.id, 0, 1_000), []);
      assert.deepEqual(await store.list({ limit: 10 }), [{ id: other.id, seq: 1, head: other.head, status: "live" }]);
      assert.deepEqual([await store.count({}), await store.count({ live: true }), await store.count({ owner: "ann" })], [1, 1, 0]);
      assert.equal(await store.find(`uid-of-${finished.life}`), undefined);
      assert.deepEqual(await ended(store), []);
      for (const event of [finished.events[0], finished.events[301]]) assert.equal(await store.event(event?.id ?? ""), undefined);
      assert.deepEqual(await store.caused(other.head ?? ""), []);
      assert.deepEqual(ids(await store.caused(finished.events[300]?.id ?? "")), ids(other.events), "what it caused names it still");
      assert.equal(await store.remembered(finished.id, "k"), undefined);
      assert.deepEqual(await store.claimants("k"), []);
      assert.deepEqual(
        (await store.undelivered(10)).map(({ message }) => message.id),
        ["m.1"],
        "what it sent is on its way",
      );
      assert.deepEqual(ids(await store.events(other.id, 0, 10)), ids(other.events));
    },
  );

  it("C6 an actor that is alive, or has had another turn, is not removed", async (store) => {
    const actor = new ChainWriter("door/a");
    await store.commit(actor.id, actor.next());
    assert.equal(await store.remove({ id: actor.id, head: actor.head ?? "" }), false);
    await store.commit(actor.id, actor.next(stopped));
    const head = actor.head ?? "";
    await store.commit(actor.id, actor.next());
    assert.equal(await store.remove({ id: actor.id, head }), false);
    await store.commit(actor.id, actor.next(stopped));
    assert.equal(await store.remove({ id: actor.id, head }), false);
    assert.equal(await store.remove({ id: "door/none", head }), false);
    assert.deepEqual(ids(await store.events(actor.id, 0, 10)), ids(actor.events));
    const again = actor.next();
    const [removed, committed] = await Promise.allSettled([
      store.remove({ id: actor.id, head: again.after ?? "" }),
      store.commit(actor.id, again),
    ]);
    assert.deepEqual([removed.status, removed.status === "fulfilled" && removed.value, committed.status], ["fulfilled", true, "rejected"]);
  });

  it("an actor that starts under the id of a removed one finds nothing of it", async (store) => {
    for (const life of ["one", "two", "three"]) {
      const actor = new ChainWriter("door/a", life);
      await store.commit(actor.id, actor.next());
      await store.commit(actor.id, actor.next({ ...stopped, remember: { key: "k", call: "c", reply: { ok: life }, until: 99_000 } }));
      assert.deepEqual(await store.remembered(actor.id, "k"), { call: "c", reply: { ok: life } });
      assert.deepEqual(ids(await store.events(actor.id, 0, 10)), ids(actor.events));
      assert.deepEqual(ids([(await store.event(actor.head ?? "")) ?? assert.fail()]), [actor.head]);
      assert.equal(await store.remove({ id: actor.id, head: actor.head ?? "" }), true);
      const next = new ChainWriter("door/b", life);
      await store.commit(next.id, next.next());
      assert.equal(await store.remembered(next.id, "k"), undefined);
      await store.commit(next.id, next.next(stopped));
      await store.remove({ id: next.id, head: next.head ?? "" });
    }
  });

  it("C4 a claim expires as a remembered reply does", async (store, clock) => {
    const a = new ChainWriter("door/a");
    await store.commit(a.id, a.next({ claimed: { key: "k", call: "c", until: 10_500 } }));
    clock.pass(500);
    assert.deepEqual(await store.claimants("k"), []);
  });

  it("C4 remembered replies expire, and the key is free again", async (store, clock) => {
    const a = new ChainWriter("door/a");
    await store.commit(a.id, a.next({ remember: { key: "k", call: "c", reply: { ok: 1 }, until: 10_500 } }));
    clock.pass(499);
    assert.deepEqual(await store.remembered(a.id, "k"), { call: "c", reply: { ok: 1 } });
    clock.pass(1);
    assert.equal(await store.remembered(a.id, "k"), undefined);
    await store.commit(a.id, a.next({ remember: { key: "k", call: "next", reply: { ok: 2 }, until: 20_000 } }));
    assert.deepEqual(await store.remembered(a.id, "k"), { call: "next", reply: { ok: 2 } });
    clock.pass(100_000);
    await store.commit(a.id, a.next({ remember: { key: "other", call: "c", reply: { ok: 3 }, until: 1_000_000 } }));
    assert.equal(await store.remembered(a.id, "k"), undefined);
  });

  survives(
    "due timers are listed soonest first: wakes by name, expiries without one",
    async (store) => {
      const a = new ChainWriter("door/a");
      const b = new ChainWriter("door/b");
      const c = new ChainWriter("door/c");
      const d = new ChainWriter("door/d");
      await store.commit(a.id, a.next({ row: { wakes: { last: { at: 900, action: "x" }, soon: { at: 300, action: "x" } } } }));
      await store.commit(b.id, b.next({ at: 100, row: { policy: { expireMs: 400 }, wakes: { w: { at: 600, action: "x" } } } }));
      await store.commit(c.id, c.next({ row: { wakes: { cleared: { at: 100, action: "x" } } } }));
      await store.commit(c.id, c.next({ row: { wakes: {} } }));
      await store.commit(d.id, d.next({ row: { wakes: { never: { at: 100, action: "x" } } } }));
      await store.commit(d.id, d.next({ row: { status: "stopped", wakes: { never: { at: 100, action: "x" } }, policy: { expireMs: 1 } } }));
    },
    async (store) => {
      const all = [
        { id: "door/a", wake: "soon", at: 300 },
        { id: "door/b", wake: "", at: 500 },
        { id: "door/b", wake: "w", at: 600 },
        { id: "door/a", wake: "last", at: 900 },
      ];
      assert.deepEqual(await store.due(899, 10), all.slice(0, 3));
      assert.deepEqual(await store.due(900, 10), all);
      assert.deepEqual(await store.due(900, 2), all.slice(0, 2));
      assert.deepEqual(await store.due(299, 10), []);
    },
  );

  survives(
    "a touched actor is due later; an earlier touch, or one of a missing actor, is ignored",
    async (store) => {
      const a = new ChainWriter("door/a");
      await store.commit(a.id, a.next({ at: 100, row: { policy: { expireMs: 400 } } }));
      for (const [id, at] of [
        [a.id, 150],
        [a.id, 120],
        ["door/none", 150],
      ] as const)
        await store.touch?.(id, at);
    },
    async (store) => {
      const at = store.touch === undefined ? 500 : 550;
      assert.deepEqual(await store.due(900, 10), [{ id: "door/a", wake: "", at }]);
      assert.equal((await store.load("door/a"))?.row.lastMessageAt, at - 400);
      assert.equal(await store.load("door/none"), undefined);
    },
  );

  it("due timers are read in pages of actors", async (store) => {
    for (const [index, key] of ["e", "c", "a", "d", "b"].entries()) {
      const one = new ChainWriter(`door/${key}`);
      // Three at one time, and one actor whose second timer comes after them.
      const at = index === 0 ? 100 : index === 4 ? 300 : 200;
      await store.commit(
        one.id,
        one.next({ row: { wakes: { w: { at, action: "x" }, ...(index === 0 && { v: { at: 250, action: "x" } }) } } }),
      );
    }
    const all = await store.due(400, 10);
    assert.deepEqual(
      all.map(({ at }) => at),
      [100, 200, 200, 200, 250, 300],
    );
    const met: string[] = [];
    let after: DuePlace | undefined;
    for (let page = await store.due(400, 2); page.length > 0; page = await store.due(400, 2, undefined, undefined, after)) {
      met.push(...page.map(({ id }) => id));
      for (const { id, at } of page) if (id !== "door/e" || at === 100) after = { id, at };
    }
    assert.deepEqual(
      met,
      all.filter(({ wake }) => wake === "w").map(({ id }) => id),
    );
    assert.deepEqual(
      await store.due(400, 10, undefined, ["door"], { id: "door/e", at: 100 }),
      all.filter(({ id }) => id !== "door/e"),
    );
    assert.deepEqual(await store.due(400, 10, undefined, undefined, { id: "door/b", at: 300 }), []);
  });

  it("due timers are filtered by kind", async (store) => {
    for (const [index, id] of (["old/a", "old/b", "door/c", "old/d", "gate/e", "door/f"] as const).entries()) {
      const one = new ChainWriter(id);
      await store.commit(one.id, one.next({ row: { wakes: { w: { at: 100 + index, action: "x" } } } }));
    }
    const woken = async (limit: number, kinds?: readonly string[]): Promise<readonly string[]> =>
      (await store.due(900, limit, undefined, kinds)).map(({ id }) => id);
    assert.deepEqual(await woken(2, ["door", "gate"]), ["door/c", "gate/e"]);
    assert.deepEqual(await woken(9, ["door", "gate"]), ["door/c", "gate/e", "door/f"]);
    assert.deepEqual(await woken(9, ["never"]), []);
    assert.deepEqual(await woken(9, []), []);
    assert.deepEqual(await woken(3), ["old/a", "old/b", "door/c"]);
  });

  survives(
    "a time beyond the safe integers makes no actor unusable",
    async (store) => {
      const far = new ChainWriter("door/far");
      const never = new ChainWriter("door/never");
      await store.commit(far.id, far.next({ row: { wakes: { nanoseconds: { at: 1.7e18, action: "x" } } } }));
      await store.commit(never.id, never.next({ row: { policy: { expireMs: Number.MAX_SAFE_INTEGER } } }));
    },
    async (store) => {
      assert.deepEqual((await store.load("door/far"))?.row.wakes, { nanoseconds: { at: 1.7e18, action: "x" } });
      assert.deepEqual((await store.load("door/never"))?.row.policy, { expireMs: Number.MAX_SAFE_INTEGER });
      assert.deepEqual(await store.due(Number.MAX_SAFE_INTEGER, 10), []);
    },
  );

  it("an expiry is postponed by every message #actors.expiry", async (store) => {
    const a = new ChainWriter("door/a");
    const b = new ChainWriter("door/b");
    const constant = { policy: { expireMs: 100 }, wakes: {}, pending: {} };
    await store.commit(a.id, a.next({ at: 0, row: constant }));
    await store.commit(b.id, b.next({ at: 10, row: constant }));
    for (const at of [50, 90, 200, 450]) await store.commit(a.id, a.next({ at, row: constant }));
    assert.deepEqual(await store.due(549, 1), [{ id: "door/b", wake: "", at: 110 }]);
    assert.deepEqual(await store.due(550, 10), [
      { id: "door/b", wake: "", at: 110 },
      { id: "door/a", wake: "", at: 550 },
    ]);
    // The clock was set back.
    await store.commit(a.id, a.next({ at: 300, row: constant }));
    assert.deepEqual((await store.due(420, 10)).at(-1), { id: "door/a", wake: "", at: 400 });
  });
}
