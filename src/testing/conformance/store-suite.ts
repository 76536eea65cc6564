// Owns: the tests of every `Store`. Does not own: those of indexes (index-suite.ts).
import assert from "node:assert/strict";
import type { ActorId, ChainEvent, Clock, DuePlace, Store } from "../../core/contract/index.ts";
import { ChainWriter, messageTo } from "./store-entries.ts";

/** A place where actors are stored, which a test can open repeatedly. */
export interface StorePlace extends Disposable {
  open(clock: Clock): Store | Promise<Store>;
}

/** The store that the suite tests. */
export interface StoreSuiteOptions {
  /** What was committed is there when the place is opened again. */
  readonly durable: boolean;
  readonly place: () => StorePlace;
}

/** A clock that a test advances. */
class StillClock implements Clock {
  #now = 10_000;
  now(): number {
    return this.#now;
  }
  after(): () => void {
    return () => undefined;
  }
  pass(ms: number): void {
    this.#now += ms;
  }
}

const ids = (events: readonly ChainEvent[]): readonly string[] => events.map((event) => event.id);
const conflict = { name: "StoreError", code: "STORE_CONFLICT" };

/** Registers the tests every `Store` passes, with `node:test`. */
export function storeSuite(name: string, options: StoreSuiteOptions): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const it = (title: string, run: (store: Store, clock: StillClock) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      const clock = new StillClock();
      await using store = await place.open(clock);
      await run(store, clock);
    });
  };
  const survives = (title: string, before: (store: Store) => Promise<void>, after: (store: Store) => Promise<void>): void => {
    test(title, async () => {
      using place = options.place();
      const clock = new StillClock();
      {
        await using store = await place.open(clock);
        await before(store);
        if (!options.durable) return await after(store);
      }
      await using store = await place.open(clock);
      await after(store);
    });
  };

  describe(name, () => {
    it("an actor that was never written is missing", async (store) => {
      assert.equal(await store.load("door/none"), undefined);
      assert.deepEqual(await store.events("door/none", 0, 10), []);
      assert.equal(await store.remembered("door/none", "k"), undefined);
      assert.equal(await store.erase("door/none", 10), 0);
    });

    const door = new ChainWriter("door/a%20b");
    survives(
      "committed data is loaded unchanged: row, head, and the events from the last whole state on",
      async (store) => {
        for (let turn = 0; turn < 20; turn += 1)
          await store.commit(
            door.id,
            door.next({
              at: 5_000 + turn,
              row: {
                owner: "iss|sub ☃",
                parent: "home/h",
                policy: { idleMs: 5 },
                pending: { "m.1": { key: [1, null, { a: "b" }] } },
                wakes: turn < 10 ? {} : { tick: { at: 9, action: "tick", everyMs: 3, args: { x: 1 } }, plain: { at: 7, action: "p" } },
              },
            }),
          );
      },
      async (store) => {
        const stored = await store.load(door.id);
        assert.ok(stored);
        assert.equal(stored.seq, 20);
        assert.equal(stored.head, door.head);
        assert.deepEqual(stored.tail, door.events.slice(16));
        assert.deepEqual(stored.row, {
          uid: "uid-of-life-of-door/a%20b",
          life: "life-of-door/a%20b",
          version: 1,
          createdAt: 1_000,
          lastMessageAt: 5_019,
          messageCount: 20,
          status: "live",
          owner: "iss|sub ☃",
          parent: "home/h",
          policy: { idleMs: 5 },
          pending: { "m.1": { key: [1, null, { a: "b" }] } },
          wakes: { tick: { at: 9, action: "tick", everyMs: 3, args: { x: 1 } }, plain: { at: 7, action: "p" } },
        });
      },
    );

    it("entries of many actors, handed over before any settles, arrive in order", async (store) => {
      const actors = Array.from({ length: 20 }, (_, index) => new ChainWriter(`door/${index}`));
      const settled: string[] = [];
      const commits: Promise<void>[] = [];
      for (let turn = 0; turn < 40; turn += 1)
        for (const actor of actors) {
          const entry = actor.next();
          commits.push(store.commit(actor.id, entry).then(() => void settled.push(`${actor.id} ${entry.seq}`)));
        }
      await Promise.all(commits);
      for (const actor of actors) {
        assert.deepEqual(ids(await store.events(actor.id, 0, 100)), ids(actor.events));
        const own = settled.filter((line) => line.startsWith(`${actor.id} `));
        assert.deepEqual(
          own,
          Array.from({ length: 40 }, (_, index) => `${actor.id} ${index + 1}`),
        );
      }
    });

    it("C2 a commit is not visible before it settles #engine.c2", async (store) => {
      const actor = new ChainWriter("door/a");
      let settled = false;
      const commit = store.commit(actor.id, actor.next()).then(() => (settled = true));
      const early = await store.load(actor.id);
      assert.ok(early === undefined || settled);
      await commit;
      assert.equal((await store.load(actor.id))?.seq, 1);
    });

    it("C6 append is compare-and-swap on the head: a second writer loses #engine.c6 #store.suites", async (store) => {
      const one = new ChainWriter("door/a");
      const two = new ChainWriter("door/a", "another-life");
      await store.commit(one.id, one.next());
      await assert.rejects(store.commit(two.id, two.next()), conflict);
      await assert.rejects(store.commit(two.id, two.next()), conflict);
      const stale = one.next();
      await store.commit(one.id, stale);
      await assert.rejects(store.commit(one.id, stale), conflict);
      assert.deepEqual(ids(await store.events(one.id, 0, 10)), ids(one.events));
    });

    it("C5 large messages in the outbox are read in smaller pages, until there are none", async (store) => {
      const all = Array.from({ length: 12 }, (_, n) => messageTo("door/a", `large.${n}`, { args: { text: "x".repeat(1_000_000) } }));
      await Promise.all(all.map((message) => store.enqueue(message)));
      const read = new Set<string>();
      for (;;) {
        const page = await store.undelivered(1_000, undefined, read);
        if (page.length === 0) break;
        for (const { message } of page) read.add(message.id);
      }
      assert.deepEqual(
        [...read],
        all.map(({ id }) => id),
      );
    });

    it("C6 a refused entry fails later entries of its actor, and no others", async (store) => {
      const mine = new ChainWriter("door/mine");
      const other = new ChainWriter("door/other");
      await store.commit(mine.id, mine.next());
      const intruder = new ChainWriter("door/mine", "intruder");
      intruder.next();
      const results = await Promise.allSettled([
        store.commit(other.id, other.next()),
        store.commit(
          intruder.id,
          intruder.next({ out: [messageTo("door/x", "never")], remember: { key: "k", call: "c", reply: { ok: 1 }, until: 1e9 } }),
        ),
        store.commit(intruder.id, intruder.next()),
        store.commit(other.id, other.next()),
        store.commit(mine.id, mine.next()),
      ]);
      assert.deepEqual(
        results.map((result) => result.status),
        ["fulfilled", "rejected", "rejected", "fulfilled", "fulfilled"],
      );
      assert.equal((await store.load("door/mine"))?.seq, 2);
      assert.equal((await store.load("door/other"))?.seq, 2);
      assert.deepEqual(await store.undelivered(10), []);
      assert.equal(await store.remembered("door/mine", "k"), undefined);
    });

    survives(
      "C5 messages of a turn are in the outbox with its commit, in order, until a turn consumes them",
      async (store) => {
        const a = new ChainWriter("room/a");
        const b = new ChainWriter("player/b");
        await Promise.all([
          store.commit(a.id, a.next({ out: [messageTo(b.id, "a.1.0"), messageTo(b.id, "a.1.1")] })),
          store.commit(b.id, b.next({ out: [messageTo(a.id, "b.1.0")] })),
          store.commit(a.id, a.next({ out: [messageTo(b.id, "a.2.0", { from: a.id, cause: "c", replyAs: "r", viewer: { scopes: [] } })] })),
        ]);
        assert.deepEqual(
          (await store.undelivered(10)).map(({ message }) => message.id),
          ["a.1.0", "a.1.1", "b.1.0", "a.2.0"],
        );
        assert.equal((await store.undelivered(2)).length, 2);
        assert.deepEqual(
          (await store.undelivered(2, undefined, new Set(["a.1.0", "b.1.0", "unknown"]))).map(({ message }) => message.id),
          ["a.1.1", "a.2.0"],
        );
        await store.commit(b.id, b.next({ consumed: "a.1.0", out: [messageTo(a.id, "b.2.0")] }));
      },
      async (store) => {
        assert.deepEqual(await store.undelivered(10), [
          { message: messageTo("player/b", "a.1.1"), failures: 0 },
          { message: messageTo("room/a", "b.1.0"), failures: 0 },
          { message: messageTo("player/b", "a.2.0", { from: "room/a", cause: "c", replyAs: "r", viewer: { scopes: [] } }), failures: 0 },
          { message: messageTo("room/a", "b.2.0"), failures: 0 },
        ]);
      },
    );

    it("C5 a message is applied once: a turn that consumes it again is refused #engine.c5", async (store) => {
      const actor = new ChainWriter("door/a");
      await store.enqueue(messageTo(actor.id, "m"));
      await store.commit(actor.id, actor.next({ consumed: "m" }));
      const again = new ChainWriter("door/b");
      await assert.rejects(store.commit(again.id, again.next({ consumed: "m" })), conflict);
      await store.enqueue(messageTo(actor.id, "n"));
      const b = new ChainWriter("door/b");
      const results = await Promise.allSettled([
        store.commit(b.id, b.next({ consumed: "n" })),
        store.commit(actor.id, actor.next({ consumed: "n" })),
      ]);
      assert.deepEqual(
        results.map((result) => result.status),
        ["fulfilled", "rejected"],
      );
    });

    survives(
      "a message from outside is stored in the outbox once, however often it is enqueued",
      async (store) => {
        await store.enqueue(messageTo("door/a", "m1"));
        await store.enqueue(messageTo("door/a", "m2"));
        await store.enqueue(messageTo("door/a", "m1"));
      },
      async (store) => {
        assert.deepEqual(
          (await store.undelivered(10)).map(({ message }) => message.id),
          ["m1", "m2"],
        );
      },
    );

    survives(
      "a failed message stays with its count; after the third failure it is a dead letter",
      async (store) => {
        for (const id of ["done", "failed", "dead", "dead2", "later"]) await store.enqueue(messageTo("door/a", id));
        await store.settle("done", "done");
        await store.settle("failed", "failed");
        await store.settle("failed", "failed");
        await store.settle("dead", "dead", { why: 'threw "x"' });
        await store.settle("dead2", "dead");
        await store.settle("unknown", "dead", { why: "x" });
        await store.settle("unknown", "done");
      },
      async (store) => {
        assert.deepEqual(
          (await store.undelivered(10)).map(({ message, failures }) => [message.id, failures]),
          [
            ["failed", 2],
            ["later", 0],
          ],
        );
        assert.deepEqual(await store.letters(10), [
          { message: messageTo("door/a", "dead"), why: 'threw "x"', at: 10_000 },
          { message: messageTo("door/a", "dead2"), why: "", at: 10_000 },
        ]);
        assert.equal((await store.letters(1)).length, 1);
        assert.equal(await store.letter("unknown", "replay"), false);
        assert.equal(await store.letter("dead2", "drop"), true);
        assert.equal(await store.letter("dead2", "replay"), false);
        assert.equal(await store.letter("dead", "replay"), true);
        assert.deepEqual(await store.letters(10), []);
        assert.deepEqual(
          (await store.undelivered(10)).map(({ message, failures }) => [message.id, failures, message.replays]),
          [
            ["failed", 2, undefined],
            ["later", 0, undefined],
            ["dead", 0, 1],
          ],
        );
      },
    );

    survives(
      "C5 an answer enters the outbox when its message leaves it, and never again #engine.c5",
      async (store) => {
        for (const id of ["done", "dead", "other"]) await store.enqueue(messageTo("door/a", id));
        for (const how of ["done", "dead"] as const)
          for (let times = 0; times < 2; times += 1) await store.settle(how, how, { answer: messageTo("door/asker", `${how}.r`) });
        const asker = new ChainWriter("door/asker");
        await store.commit(asker.id, asker.next({ consumed: "done.r" }));
        await store.settle("done", "done", { answer: messageTo("door/asker", "done.r") });
        await store.settle("unknown", "done", { answer: messageTo("door/asker", "unknown.r") });
      },
      async (store) => {
        assert.deepEqual(
          (await store.undelivered(10)).map(({ message }) => message.id),
          ["other", "dead.r"],
        );
      },
    );

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
        assert.deepEqual(await finished(store), []);
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
      assert.deepEqual(
        [removed.status, removed.status === "fulfilled" && removed.value, committed.status],
        ["fulfilled", true, "rejected"],
      );
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
        await store.commit(
          d.id,
          d.next({ row: { status: "stopped", wakes: { never: { at: 100, action: "x" } }, policy: { expireMs: 1 } } }),
        );
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
  });
}
