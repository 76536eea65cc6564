// Owns: the tests of engines about wakes, expiry and idle actors. Does not own: opening the engine (engine-stage.ts).
import assert from "node:assert/strict";
import type { Behaviour } from "../../core/contract/index.ts";
import { A, B, type EngineTests, logged, logOf } from "./engine-stage.ts";
import { tallyKind } from "./suite-kinds.ts";
import { chainOf, say, tallyOf } from "./turn-suite.ts";

export function timerTests(name: string, { it }: EngineTests): void {
  const { describe } = process.getBuiltinModule("node:test");

  describe(`${name}: time`, () => {
    it("a wake fires at its time, once; a cancelled one never #actors.wakes.named #actors.wakes.cancel", async ({ engine, clock }) => {
      const at = clock.now();
      await engine.call(say("wake", { name: "one", at: at + 1_000 }, { to: A }));
      await engine.call(say("wake", { name: "cancelled", at: at + 1_000 }, { to: A }));
      await engine.call(say("cancel", { name: "cancelled" }, { to: A }));
      await clock.advance(999);
      assert.deepEqual(await logOf(engine, A), ["begun a"]);
      await clock.advance(1);
      await logged(engine, A, /^tick one/);
      await clock.advance(5_000);
      assert.deepEqual((await logOf(engine, A)).slice(1), [`tick one ${at + 1_000}`]);
    });

    it("a repeating wake fires until it is cancelled #actors.wakes.repeat", async ({ engine, clock }) => {
      const at = clock.now();
      await engine.call(say("wake", { name: "beat", at: at + 100, everyMs: 100 }, { to: A }));
      for (let beat = 0; beat < 5; beat += 1) await clock.advance(100);
      await engine.call(say("cancel", { name: "beat" }, { to: A }));
      await clock.advance(1_000);
      assert.deepEqual(
        (await logOf(engine, A)).slice(1),
        [1, 2, 3, 4, 5].map((beat) => `tick beat ${at + beat * 100}`),
      );
    });

    for (const restarted of [false, true])
      it(`wakes go on when the clock is set back${restarted ? ", after a restart too" : ""} #actors.wakes.repeat`, async ({
        engine,
        opened,
        clock,
      }) => {
        const at = clock.now();
        const beats = (from: number): readonly string[] => [0, 1, 2, 3, 4].map((beat) => `tick beat ${from + beat * 100}`);
        await engine.call(say("wake", { name: "beat", at: at + 100, everyMs: 100 }, { to: A }));
        await engine.call(say("wake", { name: "once", at: at + 800 }, { to: A }));
        await engine.call(say("wake", { name: "tomorrow", at: at + 86_400_000, everyMs: 100 }, { to: B }));
        await clock.advance(550);
        const back = 6_000;
        clock.setBack(back);
        const now = restarted ? await opened.reopen() : engine;
        await clock.advance(530);
        const heard = (await logOf(now, A)).slice(1).filter((line) => line.startsWith("tick beat"));
        // The engine need not know how long it was down: its next beat may be a whole interval from the current time.
        const shift = restarted && heard[5] === `tick beat ${at + 650 - back}` ? 50 : 0;
        assert.deepEqual(heard, [...beats(at + 100), ...beats(at + 600 + shift - back)]);
        await clock.advance(back);
        const log = (await logOf(now, A)).slice(1);
        const once = log.find((line) => line.startsWith("tick once"));
        if (restarted) assert.ok(once !== undefined && Number(once.split(" ")[2]) < at, "not delayed by as much as the clock was set back");
        else assert.equal(once, `tick once ${at + 800 - back}`, "after the time it was set for, by the timer");
        assert.equal(log.filter((line) => line.startsWith("tick beat")).length, 10 + back / 100);
        assert.equal((await tallyOf(now, B)).log.length, 1);
      });

    it("wakes missed while no engine ran fire once, at once #actors.wakes.durable", async ({ engine, opened, clock }) => {
      const at = clock.now();
      await engine.call(say("wake", { name: "beat", at: at + 100, everyMs: 100 }, { to: A }));
      await engine.call(say("wake", { name: "once", at: at + 50 }, { to: B }));
      await opened.reopen([]);
      await clock.advance(1_050);
      const again = await opened.reopen();
      await clock.advance(0);
      await logged(again, A, /^tick beat/);
      await logged(again, B, /^tick once/);
      assert.deepEqual((await logOf(again, A)).slice(1), [`tick beat ${at + 1_050}`]);
      await clock.advance(50);
      await logged(again, A, `tick beat ${at + 1_100}`);
    });

    it("a wake that is due while older code runs fires once newer code does", async ({ opened, clock }) => {
      const versioned = (version: number): Behaviour => tallyKind("tally", {}, {}, { version, migrate: (state) => Object(state) });
      const newer = await opened.reopen([versioned(2)]);
      await newer.call(say("add", null, { to: A }));
      await newer.call(say("wake", { name: "once", at: clock.now() + 50 }, { to: A }));
      const older = await opened.reopen([versioned(1)]);
      assert.equal((await older.read(A))?.status, "failed");
      await clock.advance(10_000);
      assert.equal((await older.read(A))?.status, "failed");
      const again = await opened.reopen([versioned(2)]);
      await clock.advance(60_000);
      await logged(again, A, /^tick once/);
      assert.equal((await logOf(again, A)).filter((line) => line.startsWith("tick once")).length, 1);
    });

    it("a missed wake by cron fires once, and then at its next time #actors.wakes.cron", async ({ engine, opened, clock }) => {
      const at = clock.now();
      // The time of the first tick is given, so that the test need not wait for the next one.
      await engine.call(say("wake", { name: "leap", at: at + 50, cron: "0 0 29 2 *", timeZone: "Europe/Berlin" }, { to: A }));
      await opened.reopen([]);
      await clock.advance(1_050);
      const again = await opened.reopen();
      await clock.advance(0);
      await logged(again, A, /^tick leap/);
      await clock.advance(500);
      assert.equal((await logOf(again, A)).filter((line) => line.startsWith("tick leap")).length, 1);
    });

    it("an event caused by a wake names the event that set it, each time #chain.causes", async ({ engine, opened, clock }) => {
      await engine.call(say("add", null, { to: A }));
      await engine.call(say("wake", { name: "beat", at: clock.now() + 100, everyMs: 100 }, { to: A }));
      await clock.advance(100);
      await engine.call(say("wake", { name: "other", at: clock.now() + 1_000 }, { to: A }));
      const again = await opened.reopen();
      await clock.advance(100);
      const [, setting, ...rest] = await chainOf(again, A);
      const causes = rest.map(({ header }): unknown => JSON.parse(header).cause);
      assert.deepEqual(causes, [setting?.id, undefined, setting?.id]);
      assert.deepEqual(await again.caused(setting?.id ?? ""), [rest[0], rest[2]]);
    });

    it("a wake that throws is tried three times, then removed, with the reason in the chain", async ({ engine, clock }) => {
      await engine.call(say("wake", { name: "bad", at: clock.now() + 10, action: "throw" }, { to: A }));
      for (let round = 0; round < 8; round += 1) await clock.advance(1_000);
      const chain = await chainOf(engine, A);
      assert.equal(chain.length, 2);
      assert.match(chain[1]?.body ?? "", /"dropped":"CRASHED/);
    });

    it(
      "an actor without messages expires #actors.expiry",
      async ({ engine, clock }) => {
        await engine.call(say("add", null, { to: A }));
        await clock.advance(800);
        await engine.call(say("add", null, { to: A }));
        await clock.advance(800);
        const before = await engine.read(A);
        assert.equal(before?.status, "live");
        for (let round = 0; round < 5; round += 1) await clock.advance(1_000);
        const ended = await engine.read(A);
        assert.deepEqual([ended?.status, ended?.lastMessageAt], ["stopped", before.lastMessageAt], "its end is no message");
        await assert.rejects(engine.call({ to: A, action: "add", args: null }), { code: "ACTOR_STOPPED" });
        assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
      },
      { policy: { expireMs: 1_000 } },
    );

    it(
      "an idle actor's state is retained when its cell is dropped #actors.idle",
      async ({ engine, clock }) => {
        await engine.call(say("add", { by: 4 }, { to: A }));
        for (let round = 0; round < 10; round += 1) await clock.advance(1_000);
        assert.deepEqual(await engine.call({ to: A, action: "add", args: null }), { ok: 5 });
      },
      { policy: { idleMs: 1_000 } },
    );
  });
}
