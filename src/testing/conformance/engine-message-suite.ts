// Owns: the tests of engines about messages between actors, children, and stops. Does not own: opening the engine (engine-stage.ts).
import assert from "node:assert/strict";
import { settle, until } from "../simulated-clock.ts";
import { A, B, type EngineTests, logged, logOf, unstarted } from "./engine-stage.ts";
import { tallyKind } from "./suite-kinds.ts";
import { chainOf, idIs, say } from "./turn-suite.ts";

export function messageTests(name: string, { it }: EngineTests): void {
  const { describe } = process.getBuiltinModule("node:test");

  describe(`${name}: actors that talk to each other`, () => {
    it("C5 messages of a turn arrive once, first in first out per pair #engine.c5", async ({ engine }) => {
      await Promise.all(["one ", "two "].map((text) => engine.call(say("send-many", { to: B, text, times: 50 }, { to: A }))));
      await logged(engine, B, "one 49");
      await logged(engine, B, "two 49");
      const [begun, ...log] = await logOf(engine, B);
      const all = (text: string): readonly string[] => Array.from({ length: 50 }, (_, n) => `${text} ${n}`);
      const turned = !engine.traits.has("call-order") && log[0] === "two 0";
      assert.deepEqual([begun, ...log], ["begun b", ...(turned ? [...all("two"), ...all("one")] : [...all("one"), ...all("two")])]);
    });

    it("C5 a call is applied after messages sent before it, durable ones included", async ({ engine }) => {
      await engine.call(say("add", { by: 0 }, { to: B }));
      for (let round = 1; round <= 20; round += 1) {
        for (let n = 0; n < 5; n += 1) await engine.send({ to: B, action: "add", args: { by: 1 } });
        assert.deepEqual(await engine.call({ to: B, action: "get", args: null }), { ok: 5 * round });
      }
    });

    it("C5 a refused turn sends nothing #engine.c5", async ({ engine }) => {
      await engine.call(say("add", null, { to: A }));
      await engine.call(say("refuse", null, { to: A }));
      await settle(20);
      assert.equal(await engine.read("tally/never"), undefined);
    });

    it("C5 undelivered messages are delivered after a restart, once #engine.c5", async ({ engine, opened, hooks }) => {
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      engine.call(say("work", null, { to: B })).catch(() => undefined);
      await settle();
      await engine.call(say("send-many", { to: B, text: "x", times: 3 }, { to: A }));
      const again = await opened.reopen();
      gate.resolve();
      await logged(again, B, "x2");
      await settle(20);
      assert.deepEqual(
        (await logOf(again, B)).filter((line) => line.startsWith("x")),
        ["x0", "x1", "x2"],
      );
    });

    it("an event names its cause, across actors #chain.causes", async ({ engine }) => {
      await engine.call(say("send", { to: B, action: "note", with: { text: "hi" }, start: null }, { to: A }));
      await logged(engine, B, "hi");
      const [sent] = await chainOf(engine, A);
      const [received] = await chainOf(engine, B);
      assert.deepEqual(await engine.caused(sent?.id ?? ""), [received]);
      const body: { sent: string[] } = JSON.parse(sent?.body ?? "{}");
      const other: { message: { id: string; from: string } } = JSON.parse(received?.body ?? "{}");
      assert.deepEqual([body.sent, other.message.from], [[other.message.id], A]);
    });

    it("with `replyAs`, a reply or refusal arrives as a message, once #actors.reply-as", async ({ engine, opened }) => {
      await engine.call(say("send", { to: B, action: "add", start: null, replyAs: "answered" }, { to: A }));
      await logged(engine, A, 'answered string tally/b {"ok":1}');
      await engine.call(say("send", { to: B, action: "refuse", start: null, replyAs: "answered" }, { to: A }));
      await logged(engine, A, /refused/);
      const again = await opened.reopen();
      await settle(20);
      assert.equal((await logOf(again, A)).filter((line) => line.startsWith("answered")).length, 2);
    });

    it("with `replyAs`, a missing actor refuses at once and leaves no dead letter", async ({ engine }) => {
      await engine.call(say("send", { to: "tally/missing", action: "add", replyAs: "answered" }, { to: A }));
      await logged(engine, A, /answered string tally\/missing .*NO_ACTOR/);
    });

    it("with `replyAs`, `later` answers later", async ({ engine }) => {
      await engine.call(say("send", { to: B, action: "later", start: null, replyAs: "answered" }, { to: A }));
      await logged(engine, B, /^later /);
      await engine.call(say("answer", { value: "now" }, { to: B }));
      await logged(engine, A, 'answered string tally/b {"ok":"now"}');
    });

    it("a message to a kind that there is not is a dead letter, and its sender gets the refusal", async ({ engine, clock }) => {
      await engine.call(say("send", { to: "unknown/b", action: "add", replyAs: "answered" }, { to: A }));
      await clock.advance(1_000);
      await logged(engine, A, /^answered string unknown\/b .*UNKNOWN_KIND/);
    });

    it("`send` from outside settles when durable, and is delivered after a restart", async ({ engine, opened }) => {
      await engine.send(say("note", { text: "from a door" }, { to: A }));
      const again = await opened.reopen();
      await logged(again, A, "from a door");
      assert.equal((await logOf(again, A)).filter((line) => line === "from a door").length, 1);
    });

    it("`send` to an actor that is not there is refused", async ({ engine }) => {
      await assert.rejects(engine.send(unstarted("tally/missing", "add")), { code: "NO_ACTOR" });
    });

    it("C5 a `send` right after the one that starts its actor is accepted", async ({ engine }) => {
      for (const key of ["a", "b", "c"]) {
        await engine.send(say("note", { text: "one" }, { to: idIs("tally", key) }));
        await engine.send(unstarted(idIs("tally", key), "note", { text: "two" }));
        await logged(engine, idIs("tally", key), "two");
      }
    });

    for (const [what, more] of [
      ['`per: "shared"`', { per: "shared" }],
      ['`per: "user"`', { per: "user" }],
      ["`autoStart`", { per: "link", autoStart: true }],
    ] as const)
      it(
        `an actor of ${what} starts with its first call or send, without a parent #actors.auto-start`,
        async ({ engine }) => {
          assert.deepEqual(await engine.call(unstarted("place/called", "add")), { ok: 1 });
          await engine.send(unstarted("place/sent", "note", { text: "sent" }));
          await logged(engine, "place/sent", "sent");
          await engine.call(say("send", { to: "place/child", action: "note", with: { text: "by a turn" } }, { to: A }));
          await logged(engine, "place/child", "by a turn");
          await engine.stop(A, "done");
          assert.equal((await engine.read("place/child"))?.status, "live");
          await engine.stop("place/child", "done");
          assert.deepEqual(await engine.call(unstarted("place/child", "add")), { ok: 1 }, "another life starts in the same way");
        },
        { kinds: (hooks) => [tallyKind("tally", {}, hooks), tallyKind("place", {}, hooks, more)] },
      );

    it(
      "replies, timers, child exits, reads and refused messages start no actor #actors.auto-start",
      async ({ engine, clock }) => {
        assert.equal(await engine.read("place/p"), undefined);
        assert.deepEqual(await engine.call(unstarted("place/p", "no-such-thing")), {
          refused: { code: "UNKNOWN", message: "There is no no-such-thing." },
        });
        assert.equal(await engine.read("place/p"), undefined);
        await engine.call(unstarted("place/p", "wake", { name: "w", at: clock.now() + 50 }));
        await engine.call(unstarted("place/p", "send", { to: A, action: "later", start: null, replyAs: "answered" }));
        await engine.call(unstarted("place/p", "send", { to: B, action: "add", start: null }));
        await logged(engine, A, /^later /);
        await until("the child has started", async () => (await engine.read(B)) !== undefined);
        await engine.stop("place/p", "done");
        const end = await engine.read("place/p");
        await until("the child has stopped", async () => (await engine.read(B))?.status === "stopped");
        await engine.call(say("answer", { value: 1 }, { to: A }));
        await clock.advance(100);
        await settle(20);
        assert.equal((await engine.read("place/p"))?.seq, end?.seq);
      },
      { kinds: (hooks) => [tallyKind("tally", {}, hooks), tallyKind("place", {}, hooks, { per: "shared" })] },
    );

    it(
      'without `start`, actors of `per: "handle"` and of `autoStart: false` do not start #actors.auto-start',
      async ({ engine }) => {
        for (const to of ["desk/a", "guest/a"] as const)
          await assert.rejects(engine.call(unstarted(to, "add")), { code: "NO_ACTOR", applied: false });
        assert.deepEqual(await engine.call({ ...unstarted("guest/a", "add"), start: null }), { ok: 1 });
      },
      {
        kinds: (hooks) => [
          tallyKind("desk", {}, hooks, { per: "handle" }),
          tallyKind("guest", {}, hooks, { per: "user", autoStart: false }),
        ],
      },
    );

    it(
      "a child knows its parent, which gets a message when it ends #actors.children",
      async ({ engine }) => {
        await engine.call(say("send", { to: "child/c", action: "add", start: null }, { to: A }));
        await until("the child begins", async () => (await engine.read("child/c")) !== undefined);
        await engine.stop("child/c", "grown up");
        await logged(engine, A, "ended child/c: grown up");
      },
      { kinds: (hooks) => [tallyKind("tally", {}, hooks), tallyKind("child", {}, hooks)] },
    );

    it(
      "stopping a parent stops its descendants first, the deepest ones before others #actors.children",
      async ({ engine }) => {
        await engine.call(
          say("send", { to: "child/c", action: "send", with: { to: "child/d", action: "add", start: null }, start: null }, { to: A }),
        );
        await until("the grandchild begins", async () => (await engine.read("child/d")) !== undefined);
        const ends: string[] = [];
        for (const topic of ["tally/*", "child/*"] as const)
          engine.watch(topic, ({ id, status }) => {
            if (status === "stopped") ends.push(id);
          });
        await engine.call(say("stop", { reason: "done" }, { to: A }));
        assert.deepEqual(ends, ["child/d", "child/c", A]);
        await settle(20);
        assert.ok(!(await logOf(engine, A)).some((line) => line.startsWith("ended")), "their stopper is not notified");
      },
      { kinds: (hooks) => [tallyKind("tally", {}, hooks), tallyKind("child", {}, hooks)] },
    );

    it("work calls others, and a cycle of waits is refused", async ({ engine }) => {
      assert.deepEqual(await engine.call(say("call", { to: B, action: "add", with: { by: 3 }, start: null }, { to: A })), { ok: 3 });
      if (!engine.traits.has("cycle-check")) return;
      const ring = say("call", { to: B, action: "call", with: { to: A, action: "add", start: null }, start: null }, { to: A });
      await assert.rejects(engine.call(ring), { code: "CRASHED", applied: false });
      await assert.rejects(engine.call(say("call", { to: A, action: "get" }, { to: A })), { code: "CRASHED", applied: false });
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
    });

    it("stopping aborts running work, whose call was not applied #actors.work.abort", async ({ engine, hooks }) => {
      const saw: string[] = [];
      hooks.saw = (what) => saw.push(what);
      hooks.gate = () => new Promise(() => undefined);
      await engine.call(say("add", null, { to: A }));
      const working = engine.call(say("work", null, { to: A }));
      working.catch(() => undefined);
      await until("work runs", () => saw.includes("work"));
      await engine.stop(A, "now");
      await assert.rejects(working, { code: "ACTOR_STOPPED", applied: false });
      assert.ok(saw.includes("abort"));
      assert.equal((await engine.read(A))?.status, "stopped");
    });
  });
}
