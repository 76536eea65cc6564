// Owns: the tests of engines about an actor's metadata over its lives, and actors in memory. Does not own: opening the engine (engine-stage.ts).
import assert from "node:assert/strict";
import type { ActorId, Engine, Snapshot } from "../../core/contract/index.ts";
import { until } from "../simulated-clock.ts";
import { A, B, type EngineTests, known, logged, logOf } from "./engine-stage.ts";
import { tallyKind } from "./suite-kinds.ts";
import { chainOf, say, tallyOf } from "./turn-suite.ts";

export function lifeTests(name: string, { it, itInMemory }: EngineTests): void {
  const { describe } = process.getBuiltinModule("node:test");

  describe(`${name}: what is known of an actor`, () => {
    it("a read reports when the actor started, its last message and the number of messages with an event", async ({ engine, clock }) => {
      const began = clock.now();
      await engine.call(say("add", null, { to: A }));
      assert.deepEqual(await known(engine, A), [began, began, 1]);
      await clock.advance(1_000);
      await engine.call(say("add", null, { to: A }));
      await clock.advance(1_000);
      await engine.call(say("wake", { name: "one", at: clock.now() + 500 }, { to: A }));
      await clock.advance(500);
      await logged(engine, A, /^tick one/);
      assert.deepEqual(await known(engine, A), [began, began + 2_500, 4], "a wake is a message");
      await clock.advance(1_000);
      for (const vain of ["refuse", "needs", "get", "same"]) await engine.call(say(vain, null, { to: A }));
      await assert.rejects(engine.call(say("throw", null, { to: A })), { code: "CRASHED" });
      assert.deepEqual(await known(engine, A), [began, began + 2_500, 4], "messages without an event do not count");
      const last = clock.now();
      await engine.call(say("add", null, { to: A }));
      assert.deepEqual(await known(engine, A), [began, last, 5]);
    });

    it("its uid is the same in all its lives, finds it, and is passed to each turn", async ({ engine, opened }) => {
      const uids = async (on: Engine): Promise<readonly (string | undefined)[]> => {
        const reply = await on.call(say("uid", null, { to: A }));
        return ["ok" in reply && typeof reply.ok === "string" ? reply.ok : "", (await on.read(A))?.uid];
      };
      await engine.call(say("add", null, { to: A }));
      const [uid, read] = await uids(engine);
      assert.match(uid ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-/);
      assert.equal(read, uid);
      assert.equal(await engine.find(uid ?? ""), A);
      await engine.stop(A, "enough");
      assert.equal((await engine.read(A))?.uid, uid);
      await engine.call(say("add", null, { to: A }));
      assert.deepEqual(await uids(engine), [uid, uid]);
      assert.equal(await engine.find(uid ?? ""), A);
      const again = await opened.reopen([tallyKind("tally", {}, {})]);
      await again.call(say("add", null, { to: A }));
      assert.deepEqual(await uids(again), [uid, uid]);
    });

    it("law 2: a read's data is of the same event as its state, while others are pending", async ({ engine, clock }) => {
      const began = clock.now();
      await engine.call(say("add", null, { to: A }));
      await clock.advance(1_000);
      const calls = Promise.all(Array.from({ length: 20 }, () => engine.call(say("add", null, { to: A }))));
      const seen = new Set<number>();
      const look = async (): Promise<void> => {
        const now = await engine.read(A);
        assert.deepEqual(now?.state, { n: now?.seq, log: ["begun a"] });
        assert.deepEqual(
          [now?.messageCount, now?.createdAt, now?.lastMessageAt],
          [now?.seq, began, now?.seq === 1 ? began : began + 1_000],
        );
        seen.add(now?.seq ?? 0);
      };
      await look();
      await engine.call(say("add", null, { to: A })).then(look);
      await calls;
      await look();
      assert.ok(seen.has(22));
    });

    it(
      "an actor's metadata outlives its cell and the process",
      async ({ engine, opened, clock }) => {
        const began = clock.now();
        await engine.call(say("add", null, { to: A }));
        await clock.advance(100);
        await engine.call(say("add", null, { to: A }));
        await clock.advance(100);
        await engine.call(say("refuse", null, { to: A }));
        for (let round = 0; round < 10; round += 1) await clock.advance(1_000);
        const asleep = [began, began + 100, 2];
        assert.deepEqual(await known(engine, A), asleep);
        const newer = tallyKind("tally", {}, {}, { version: 3, migrate: (_, from) => ({ n: from, log: [] }) });
        const again = await opened.reopen([newer]);
        assert.deepEqual(await known(again, A), asleep);
        const now = await again.read(A);
        assert.deepEqual([now?.version, now?.state], [3, { n: 1, log: [] }], "of the state that was read");
        await again.call(say("add", null, { to: A }));
        assert.deepEqual(await known(again, A), [began, clock.now(), 3]);
      },
      { policy: { idleMs: 1_000 } },
    );

    it("a state that could not be migrated has the version it was written with", async ({ engine, opened }) => {
      await engine.call(say("add", null, { to: A }));
      const again = await opened.reopen([tallyKind("tally", {}, {}, { version: 2 })]);
      const now = await again.read(A);
      assert.deepEqual([now?.status, now?.version, now?.messageCount], ["failed", 1, 1]);
    });

    it("a stop is counted, and another life begins anew", async ({ engine, opened, clock }) => {
      const began = clock.now();
      await engine.call(say("add", null, { to: A }));
      await clock.advance(100);
      await engine.call(say("add", null, { to: A }));
      await clock.advance(100);
      await engine.stop(A, "enough");
      const stopped = await engine.read(A);
      assert.deepEqual([stopped?.status, stopped?.createdAt, stopped?.messageCount], ["stopped", began, 3]);
      await clock.advance(100);
      const anew = clock.now();
      await engine.call(say("add", null, { to: A }));
      assert.deepEqual(await known(engine, A), [anew, anew, 1]);
      const again = await opened.reopen();
      assert.deepEqual(await known(again, A), [anew, anew, 1]);
      await clock.advance(100);
      await again.call(say("add", null, { to: A }));
      assert.deepEqual(await known(again, A), [anew, anew + 100, 2]);
      assert.equal((await again.read(A))?.seq, 5, "the chain goes on");
    });
  });

  describe(`${name}: memory actors`, () => {
    itInMemory("a read of a memory actor reports the same, and its persistence", async ({ engine, clock }) => {
      const began = clock.now();
      await engine.call(say("add", null, { to: "note/a" }));
      await clock.advance(100);
      await engine.call(say("add", null, { to: "note/a" }));
      await clock.advance(100);
      await engine.call(say("refuse", null, { to: "note/a" }));
      assert.deepEqual(await known(engine, "note/a"), [began, began + 100, 2]);
      const now = await engine.read("note/a");
      const { state, version, persistence }: Partial<Snapshot> = JSON.parse(JSON.stringify(now));
      assert.deepEqual([state, version, persistence], [{ n: 2, log: ["begun a"] }, 1, "memory"]);
      await engine.stop("note/a", "enough");
      await engine.call(say("add", null, { to: "note/a" }));
      assert.deepEqual(await known(engine, "note/a"), [clock.now(), clock.now(), 1]);
    });

    itInMemory("an actor's own policy decides its persistence, not its kind's", async ({ engine, opened }) => {
      const persistenceOf = async (of: Engine, id: ActorId): Promise<unknown> => (await of.read(id))?.persistence;
      await engine.call(say("add", null, { to: "note/stored", policy: { persistence: "disk" } }));
      await engine.call(say("add", null, { to: "tally/brief", policy: { persistence: "memory" } }));
      await engine.call(say("add", null, { to: A }));
      assert.equal(await persistenceOf(engine, "note/stored"), "disk");
      assert.equal(await persistenceOf(engine, "tally/brief"), "memory");
      assert.equal(await persistenceOf(engine, A), "disk");
      const again = await opened.reopen();
      assert.equal(await persistenceOf(again, "note/stored"), "disk");
    });

    itInMemory("a memory actor lives as long as the process", async ({ engine, opened }) => {
      assert.deepEqual(await engine.call(say("add", null, { to: "note/a" })), { ok: 1 });
      assert.deepEqual(await engine.call(say("add", null, { to: "note/a" }), { key: "k" }), { ok: 2 });
      assert.deepEqual(await engine.call(say("add", null, { to: "note/a" }), { key: "k" }), { ok: 2 });
      await assert.rejects(engine.call(say("add", { by: 2 }, { to: "note/a" }), { key: "k" }), { code: "KEY_REUSED" });
      assert.deepEqual((await tallyOf(engine, "note/a")).n, 2);
      assert.equal(await engine.count({ kind: "note" }), 1);
      const again = await opened.reopen();
      await assert.rejects(again.call({ to: "note/a", action: "add", args: null }), { code: "NO_ACTOR" });
    });

    itInMemory("its last event is an event like any other", async ({ engine }) => {
      await engine.call(say("note", { text: "x" }, { to: "note/a" }));
      const receipts: unknown[] = [];
      await engine.call(say("add", null, { to: "note/a" }), { onReceipt: ({ actor, seq, head }) => receipts.push({ actor, seq, head }) });
      const [event] = await chainOf(engine, "note/a");
      assert.deepEqual(receipts, [{ actor: "note/a", seq: 2, head: event?.id }]);
      assert.equal((await engine.read("note/a"))?.head, event?.id);
      const body: { state: unknown } = JSON.parse(event?.body ?? "{}");
      assert.deepEqual(body.state, { n: 1, log: ["begun a", "x"] });
    });

    itInMemory("C5 sends between memory and disk go both ways, with replies", async ({ engine }) => {
      await engine.call(say("send", { to: B, action: "add", start: null, replyAs: "answered" }, { to: "note/a" }));
      await logged(engine, "note/a", 'answered string tally/b {"ok":1}');
      await engine.call(say("send", { to: "note/b", action: "add", start: null, replyAs: "answered" }, { to: A }));
      await logged(engine, A, 'answered string note/b {"ok":1}');
      await engine.call(say("send", { to: "note/b", action: "refuse", start: null, replyAs: "answered" }, { to: A }));
      await logged(engine, A, /note\/b .*refused/);
      assert.equal((await tallyOf(engine, "note/b")).n, 1);
    });

    itInMemory("a policy given at the start wins over the kind's, and stays #actors.policy", async ({ engine, opened }) => {
      await engine.call(say("add", null, { to: "note/stored", policy: { persistence: "disk" } }));
      await engine.call(say("add", null, { to: "tally/brief", policy: { persistence: "memory" } }));
      assert.deepEqual(await engine.call({ to: "tally/brief", action: "add", args: null }), { ok: 2 });
      const again = await opened.reopen();
      assert.deepEqual(await again.call({ to: "note/stored", action: "add", args: null }), { ok: 2 });
      await assert.rejects(again.call({ to: "tally/brief", action: "add", args: null }), { code: "NO_ACTOR" });
    });

    itInMemory("wakes, expiry, children and stops work without a disk", async ({ engine, clock }) => {
      const at = clock.now();
      await engine.call(say("wake", { name: "beat", at: at + 100, everyMs: 100 }, { to: "note/a" }));
      await engine.call(say("wake", { name: "beat", at: at + 150, everyMs: 100 }, { to: "note/b" }));
      await clock.advance(250);
      clock.setBack(1_000_000);
      await clock.advance(100);
      for (const [id, ...beats] of [["note/a", 100, 200, 300 - 1_000_000] as const, ["note/b", 150, 250, 350 - 1_000_000] as const])
        assert.deepEqual(
          (await logOf(engine, id)).slice(1),
          beats.map((beat) => `tick beat ${at + beat}`),
        );
      await engine.call(say("send", { to: "note/child", action: "add", start: null }, { to: "note/a" }));
      await until("the child begins", async () => (await engine.read("note/child")) !== undefined);
      await engine.stop("note/child", "enough");
      await logged(engine, "note/a", "ended note/child: enough");
      await engine.call(say("add", null, { to: "note/brief", policy: { expireMs: 1_000 } }));
      await clock.advance(3_000);
      await assert.rejects(engine.call({ to: "note/brief", action: "add", args: null }), { code: "NO_ACTOR" });
      await engine.stop("note/b", "all");
      await engine.stop("note/a", "all");
      assert.equal(await engine.read("note/a"), undefined);
      assert.equal(await engine.count({ kind: "note" }), 0);
    });
  });
}
