// Owns: the tests of engines about failed actors, restarts and migration. Does not own: opening the engine (engine-stage.ts).
import assert from "node:assert/strict";
import { readBody } from "../../core/chain/index.ts";
import type { ActorId, Json, JsonObject, Outgoing } from "../../core/contract/index.ts";
import { settle, until } from "../simulated-clock.ts";
import { A, B, type EngineTests, logged, logOf, objectOf } from "./engine-stage.ts";
import { tallyKind } from "./suite-kinds.ts";
import { chainOf, say } from "./turn-suite.ts";

export function failureTests(name: string, { it }: EngineTests): void {
  const { describe } = process.getBuiltinModule("node:test");

  describe(`${name}: failure`, () => {
    it(
      "a bound on crashes fails the actor until it is restarted #actors.crash-bound",
      async ({ engine, clock }) => {
        await engine.call(say("add", null, { to: A }));
        for (let crash = 0; crash < 3; crash += 1) await assert.rejects(engine.call(say("throw", null, { to: A })), { code: "CRASHED" });
        await assert.rejects(engine.call(say("add", null, { to: A })), { code: "ACTOR_FAILED", applied: false });
        assert.equal((await engine.read(A))?.status, "failed");
        assert.equal((await engine.list({ kind: "tally", limit: 1 }))[0]?.status, "failed");
        await engine.restart(A);
        assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 2 });
        for (let crash = 0; crash < 6; crash += 1) {
          await assert.rejects(engine.call(say("throw", null, { to: A })), { code: "CRASHED" });
          await clock.advance(600);
        }
        assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 3 });
      },
      { policy: { restart: { max: 2, withinMs: 1_000 } } },
    );

    for (const [who, most] of [
      ["its parent restarts it", 3],
      ["an operator restarts it", 6],
    ] as const)
      it(
        `a timer that crashes its actor has ${most === 3 ? "three attempts in all" : "three attempts again"} if ${who}`,
        async ({ engine, clock }) => {
          await engine.call(say("send", { to: B, action: "add", start: null }, { to: A }));
          await until("the child is there", async () => (await engine.read(B)) !== undefined);
          await engine.call(say("wake", { name: "bad", at: clock.now() + 10, action: "throw" }, { to: B }));
          let restarts = 0;
          for (let second = 0; second < 12 && restarts < most; second += 1) {
            await clock.advance(1_000);
            if ((await engine.read(B))?.status !== "failed") continue;
            restarts += 1;
            if (most === 6) await engine.restart(B);
            else await engine.call(say("restart", { child: B }, { to: A }));
          }
          await clock.advance(2_000);
          assert.equal(restarts, most);
          assert.equal((await engine.read(B))?.status, most === 3 ? "live" : "failed");
        },
        { policy: { restart: { max: 0, withinMs: 1_000 } } },
      );

    it(
      "work whose call fails has crashed itself: its caller does not get the code of that call",
      async ({ engine }) => {
        const call = (what: JsonObject): Promise<unknown> => engine.call(say("call", what, { to: A }));
        await engine.call(say("add", null, { to: A }));
        await assert.rejects(call({ to: B, action: "add" }), { code: "CRASHED", applied: false });
        await assert.rejects(call({ to: "unknown/b", action: "add" }), { code: "CRASHED", applied: false });
        await assert.rejects(engine.call(say("add", null, { to: A })), { code: "ACTOR_FAILED" });
      },
      { policy: { restart: { max: 1, withinMs: 1_000_000 } } },
    );

    it(
      "a parent is notified of a child's failure, and only it restarts the child, before its messages",
      async ({ engine, clock }) => {
        await engine.call(say("send", { to: B, action: "add", start: null }, { to: A }));
        await until("the child is there", async () => (await engine.read(B)) !== undefined);
        const fail = async (): Promise<void> => {
          for (let crash = 0; crash < 2; crash += 1) await assert.rejects(engine.call(say("throw", null, { to: B })), { code: "CRASHED" });
        };
        await fail();
        await logged(engine, A, /^failed tally\/b: it crashed 2 times within 1000 ms$/);
        for (const to of [B, "tally/c"] as const) {
          const restart = engine.call(say("restart", { child: B }, { to, start: null }));
          if (to === B) await assert.rejects(restart, { code: "ACTOR_FAILED" });
          else await restart;
        }
        await settle(20);
        await assert.rejects(engine.call(say("add", null, { to: B })), { code: "ACTOR_FAILED" });
        await engine.call(say("restart", { child: B, next: { to: B, action: "note", with: { text: "again" } } }, { to: A }));
        await logged(engine, B, /^again$/);
        assert.deepEqual(await engine.call(say("add", null, { to: B })), { ok: 2 });
        await clock.advance(2_000);
        await fail();
        await until(
          "it hears of each failure",
          async () => (await logOf(engine, A)).filter((line) => line.startsWith("failed ")).length === 2,
        );
      },
      { policy: { restart: { max: 1, withinMs: 1_000 } } },
    );

    it(
      "watchers are notified of a failure that a call causes, and of the restart",
      async ({ engine }) => {
        const statuses: string[] = [];
        engine.watch(A, ({ status }) => statuses.push(status));
        await engine.call(say("add", null, { to: A }));
        await assert.rejects(engine.call(say("throw", null, { to: A })), { code: "CRASHED" });
        await until("the failure is known", () => statuses.at(-1) === "failed");
        await engine.restart(A);
        await until("the restart is known", () => statuses.at(-1) === "live");
        assert.deepEqual(statuses, ["live", "failed", "live"]);
      },
      { policy: { restart: { max: 0, withinMs: 1_000 } } },
    );

    it(
      "each failure sends its own message, also for the same cause, and a restart is announced",
      async ({ engine, clock }) => {
        await engine.call(say("send", { to: B, action: "add", start: null }, { to: A }));
        await until("the child is there", async () => (await engine.read(B)) !== undefined);
        const statuses: string[] = [];
        engine.watch(B, ({ status }) => statuses.push(status));
        const failures = async (): Promise<readonly JsonObject[]> =>
          (await chainOf(engine, A)).map((event) => objectOf(readBody(event)?.message)).filter(({ action }) => action === "failed");
        await engine.call(say("send", { to: B, action: "throw" }, { to: A }));
        for (const times of [1, 2]) {
          await until("the parent hears of it", async () => (await failures()).length >= times);
          await until("all hear of it", () => statuses.at(-1) === "failed");
          await engine.call(say("restart", { child: B }, { to: A }));
          await until("all hear of its restart", () => statuses.at(-1) === "live");
          // The failed message is delivered again.
          await clock.advance(2_000);
        }
        for (const own of ["id", "seed"]) assert.equal(new Set((await failures()).map((failure) => failure[own])).size, 2);
      },
      { policy: { restart: { max: 0, withinMs: 1_000 } } },
    );

    it(
      "a failed actor can be stopped, and starts anew",
      async ({ engine }) => {
        await engine.call(say("add", null, { to: B }));
        await assert.rejects(engine.call(say("throw", null, { to: B })), { code: "CRASHED" });
        await engine.stop(B, "no more of that");
        assert.equal((await engine.read(B))?.status, "stopped");
        await assert.rejects(engine.call({ to: B, action: "add", args: null }), { code: "ACTOR_STOPPED" });
        assert.deepEqual(await engine.call(say("add", null, { to: B })), { ok: 1 });
      },
      { policy: { restart: { max: 0, withinMs: 1_000 } } },
    );

    it("a parent from an earlier life no longer stops an actor", async ({ engine }) => {
      const begin = async (parent: ActorId): Promise<void> => {
        await engine.call(say("send", { to: B, action: "add", start: null }, { to: parent }));
        await until(`${B} is a child of ${parent}`, async () => (await engine.read(B))?.status === "live");
      };
      await begin(A);
      await engine.stop(B, "enough");
      await begin("tally/c");
      await engine.stop(A, "over");
      assert.equal((await engine.read(B))?.status, "live");
      await engine.stop("tally/c", "over");
      assert.equal((await engine.read(B))?.status, "stopped");
    });

    it(
      "an actor that has failed expires like any other",
      async ({ engine, clock }) => {
        const ids: readonly ActorId[] = engine.traits.has("memory-actors") ? [B, "note/n"] : [B];
        for (const to of ids) {
          await engine.call(say("wake", { name: "later", at: clock.now() + 500 }, { to }));
          await assert.rejects(engine.call(say("throw", null, { to })), { code: "CRASHED" });
        }
        await clock.advance(600);
        for (const id of ids) assert.equal((await engine.read(id))?.status, "failed");
        await clock.advance(61_000);
        for (const id of ids) await until(`${id} has ended`, async () => (await engine.read(id))?.status !== "failed");
      },
      {
        kinds: (hooks) => {
          const policy = { restart: { max: 0, withinMs: 1_000 }, expireMs: 1_000 };
          return [tallyKind("tally", policy, hooks), tallyKind("note", { ...policy, persistence: "memory" }, hooks)];
        },
      },
    );

    it(
      "an actor that crashes at its start is neither started nor failed, and has no parent",
      async ({ engine }) => {
        await assert.rejects(engine.call(say("throw", null, { to: B })), { code: "CRASHED" });
        await engine.call(say("send", { to: B, action: "add", start: null }, { to: A }));
        await until("the child is there", async () => (await engine.read(B)) !== undefined);
        await engine.stop(B, "enough");
        await logged(engine, A, /^ended/);
        await assert.rejects(engine.call(say("throw", null, { to: B })), { code: "CRASHED" });
        await settle(20);
        assert.deepEqual(await engine.call(say("add", null, { to: B })), { ok: 1 });
        assert.ok(!(await logOf(engine, A)).some((line) => line.startsWith("failed")));
      },
      { policy: { restart: { max: 0, withinMs: 1_000 } } },
    );

    it("a restart does nothing to a child that has not failed, or is missing", async ({ engine }) => {
      await assert.rejects(engine.restart("tally/none"), { code: "NO_ACTOR" });
      await engine.call(say("restart", { child: "tally/none" }, { to: A }));
      await engine.call(say("send", { to: B, action: "add", start: null }, { to: A }));
      await until("the child is there", async () => (await engine.read(B)) !== undefined);
      await engine.call(say("restart", { child: B }, { to: A }));
      await settle(20);
      assert.deepEqual(await engine.call(say("add", null, { to: B })), { ok: 2 });
    });

    it(
      "invalid data in a message is no crash of the actor, nor in its start",
      async ({ engine }) => {
        const half: Json = JSON.parse('{ "text": "\\udc00", "explode": true }');
        const refused = async (message: Outgoing): Promise<void> => {
          const reply = await engine.call(message);
          assert.equal("refused" in reply ? reply.refused.code : "ok", "INVALID");
        };
        await refused(say("add", null, { to: A, start: half }));
        await engine.call(say("add", null, { to: A }));
        for (let time = 0; time < 3; time += 1) await refused(say("throw", half, { to: A }));
        assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 2 });
      },
      { policy: { restart: { max: 0, withinMs: 1_000 } } },
    );

    it("a start that throws leaves no actor, and a later one begins it", async ({ engine }) => {
      for (let time = 0; time < 3; time += 1)
        await assert.rejects(engine.call(say("add", null, { to: A, start: { explode: true } })), { code: "CRASHED", applied: false });
      assert.equal(await engine.read(A), undefined);
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
    });

    it("a next life whose start throws is none: the actor has stopped, and a later start begins it", async ({ engine }) => {
      const statuses: string[] = [];
      await engine.call(say("add", null, { to: A }));
      const last = (await engine.read(A))?.lastMessageAt;
      await engine.stop(A, "enough");
      assert.equal((await engine.read(A))?.lastMessageAt, last, "its end is no message");
      engine.watch(A, ({ status }) => statuses.push(status));
      await assert.rejects(engine.call(say("add", null, { to: A, start: { explode: true } })), { code: "CRASHED", applied: false });
      assert.equal((await engine.read(A))?.status, "stopped");
      await engine.stop(A, "again");
      assert.deepEqual([(await engine.read(A))?.status, (await chainOf(engine, A)).length], ["stopped", 2], "it has ended once");
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
      await until("the new life is known", () => statuses.at(-1) === "live");
      assert.ok(!statuses.includes("failed"));
    });

    it("an actor whose migration throws has failed, can be read, stopped and, with better code, restarted #actors.migrate", async ({
      engine,
      opened,
    }) => {
      await engine.call(say("add", null, { to: A }));
      await engine.call(say("add", null, { to: B }));
      const broken = tallyKind(
        "tally",
        {},
        {},
        {
          version: 2,
          migrate: () => {
            throw new Error("no");
          },
        },
      );
      const second = await opened.reopen([broken]);
      await assert.rejects(second.call(say("add", null, { to: A })), { code: "ACTOR_FAILED", applied: false });
      assert.deepEqual((await second.read(A))?.state, { n: 1, log: ["begun a"] });
      assert.equal((await second.read(A))?.status, "failed");
      await second.stop(B, "hopeless");
      assert.equal((await second.read(B))?.status, "stopped");
      const third = await opened.reopen([tallyKind("tally", {}, {}, { version: 2, migrate: () => ({ n: 100, log: [] }) })]);
      assert.deepEqual(await third.call(say("add", null, { to: A })), { ok: 101 });
    });
  });
}
