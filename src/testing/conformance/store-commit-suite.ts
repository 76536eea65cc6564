// Owns: the tests of stores about commits and the outbox. Does not own: opening the store (store-stage.ts).
import assert from "node:assert/strict";
import { ChainWriter, messageTo } from "./store-entries.ts";
import { conflict, ids, type StoreTests } from "./store-stage.ts";

export function commitTests({ it, survives }: StoreTests): void {
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
      assert.deepEqual(
        (await store.letters(1, undefined, new Set(["dead"]))).map(({ message }) => message.id),
        ["dead2"],
      );
      assert.deepEqual(await store.letters(1, undefined, new Set(["dead", "dead2"])), []);
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
}
