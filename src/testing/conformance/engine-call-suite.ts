// Owns: the tests of engines about callers: keys, deadlines, `later`, watchers, lists. Does not own: opening the engine (engine-stage.ts).
import assert from "node:assert/strict";
import { readBody } from "../../core/chain/index.ts";
import type { Catalogue, Engine, Reply } from "../../core/contract/index.ts";
import { settle, until } from "../simulated-clock.ts";
import { A, B, type EngineTests, logged, logOf, objectOf } from "./engine-stage.ts";
import { tallyKind } from "./suite-kinds.ts";
import { chainOf, idIs, say, tallyOf } from "./turn-suite.ts";

/** `get` only reads. */
const READING: Catalogue = {
  tools: [{ name: "get", definition: { name: "get", inputSchema: { type: "object" } }, action: "get", readOnly: true }],
  resources: [],
  prompts: [],
};

export function callTests(name: string, { it, itInMemory }: EngineTests): void {
  const { describe } = process.getBuiltinModule("node:test");

  describe(`${name}: callers`, () => {
    it("C1 actors run concurrently: work of one does not delay others #engine.c1", async ({ engine, hooks }) => {
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      const working = engine.call(say("work", null, { to: A }));
      assert.deepEqual(await engine.call(say("add", null, { to: B })), { ok: 1 });
      gate.resolve();
      assert.deepEqual(await working, { ok: 1 });
    });

    itInMemory("C2 a synchronous call is announced before its reply, which is that of `call`", async ({ engine }) => {
      if (engine.callNow === undefined) return;
      const seen: unknown[] = [];
      engine.watch("note/n", ({ seq }) => seen.push(seq));
      seen.push(await engine.callNow(say("add", null, { to: "note/n" })));
      seen.push(await engine.callNow(say("add", null, { to: "note/n" }), { key: "once" }));
      seen.push(await engine.callNow(say("add", null, { to: "note/n" }), { key: "once" }));
      assert.deepEqual(seen, [1, { ok: 1 }, 2, { ok: 2 }, { ok: 2 }]);
      await assert.rejects(async () => engine.callNow?.(say("throw", null, { to: "note/n" })), { code: "CRASHED", applied: false });
      await assert.rejects(async () => engine.callNow?.({ to: "note/other", action: "add", args: null }), { code: "NO_ACTOR" });
    });

    it("a limit or position that is not an integer is BAD_QUERY", async ({ engine }) => {
      await engine.call(say("add", null, { to: A }));
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 0.5]) {
        await assert.rejects(async () => engine.history(A, wrong)[Symbol.asyncIterator]().next(), { code: "BAD_QUERY" });
        if (wrong !== Infinity) await assert.rejects(async () => engine.list({ limit: wrong }), { code: "BAD_QUERY" });
      }
      assert.deepEqual(
        (await engine.list({ limit: Infinity })).map(({ id }) => id),
        [A],
      );
    });

    it("an invalid id from untyped code is BAD_ID", async ({ engine }) => {
      for (const id of [undefined, null, 7, {}, "note", "note/%zz"] as const) {
        // @ts-expect-error it is text
        const outgoing: Parameters<Engine["call"]>[0] = { to: id, action: "add", args: null, start: null };
        await assert.rejects(async () => engine.call(outgoing), { code: "BAD_ID" });
        await assert.rejects(async () => engine.send(outgoing), { code: "BAD_ID" });
        const { to } = outgoing;
        await assert.rejects(async () => engine.read(to), { code: "BAD_ID" });
        await assert.rejects(async () => engine.stop(to, "why"), { code: "BAD_ID" });
        await assert.rejects(async () => engine.restart(to), { code: "BAD_ID" });
        await assert.rejects(async () => chainOf(engine, to), { code: "BAD_ID" });
      }
    });

    it("law 2: a synchronous read returns what `read` returns", async ({ engine }) => {
      if (engine.readNow === undefined) return;
      assert.equal(await engine.readNow(A), undefined);
      await engine.call(say("add", null, { to: A }));
      await engine.call(say("add", null, { to: A }));
      const [now, then] = [await engine.readNow(A), await engine.read(A)];
      assert.ok(now !== undefined && then !== undefined);
      assert.deepEqual({ ...now, head: now.head }, { ...then, head: then.head });
      assert.equal(now.seq, 2);
    });

    it("C2 work starts only when all before it is durable", async ({ engine, hooks }) => {
      const durable: (number | undefined)[] = [];
      const seen: Promise<void>[] = [];
      let worked: number | undefined;
      hooks.saw = (what) => {
        if (what === "work") seen.push(engine.read(A).then((now) => void durable.push(now?.seq)));
      };
      await engine.call(say("add", null, { to: A }));
      await Promise.all([
        engine.call(say("add", null, { to: A })),
        engine.call(say("add", null, { to: A })),
        engine.call(say("work", null, { to: A }), { onReceipt: ({ seq }) => (worked = seq) }),
      ]);
      await Promise.all(seen);
      assert.ok(worked !== undefined);
      assert.deepEqual(durable, [worked - 1]);
      if (engine.traits.has("call-order")) assert.equal(worked, 4);
    });

    it("C4 a keyed call repeated while the first runs gets the reply of the first", async ({ engine, hooks }) => {
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      const calls = Array.from({ length: 5 }, () => engine.call(say("work", null, { to: A }), { key: "k" }));
      await settle();
      gate.resolve();
      assert.deepEqual(
        await Promise.all(calls),
        Array.from({ length: 5 }, () => ({ ok: 1 })),
      );
      assert.equal((await engine.read(A))?.seq, 1);
    });

    it("C4 a key used for another call is refused while that call runs, is due or is remembered #engine.c4", async ({
      engine,
      opened,
      hooks,
    }) => {
      const gate = Promise.withResolvers<void>();
      let begun = false;
      hooks.gate = () => {
        begun = true;
        return gate.promise;
      };
      const refused = async (call: Promise<unknown>): Promise<void> => {
        await assert.rejects(call, { code: "KEY_REUSED", applied: false, message: /key of its own/ });
      };
      const working = engine.call(say("work", { by: 2, of: [1] }, { to: A }), { key: "k" });
      await until("it works", () => begun);
      // At the latest when the first has ended.
      const others = [
        refused(engine.call(say("add", { by: 2, of: [1] }, { to: A }), { key: "k" })),
        refused(engine.call(say("work", { by: 3, of: [1] }, { to: A }), { key: "k" })),
      ];
      await settle();
      gate.resolve();
      assert.deepEqual(await working, { ok: 2 });
      await Promise.all(others);
      engine.call(say("later", { n: 1 }, { to: A }), { key: "later" }).catch(() => undefined);
      await logged(engine, A, /^later /);
      const again = await opened.reopen();
      await refused(again.call(say("work", null, { to: A }), { key: "k" }));
      await refused(again.call(say("later", null, { to: A }), { key: "later" }));
      assert.deepEqual(await again.call(say("work", { of: [1], by: 2 }, { to: A }), { key: "k" }), { ok: 2 });
      assert.deepEqual(await again.call(say("add", null, { to: B }), { key: "k" }), { ok: 1 }, "of another actor it is another key");
      await again.call(say("answer", { value: 7 }, { to: A }));
      await refused(again.call(say("later", null, { to: A }), { key: "later" }));
      assert.deepEqual(await again.call(say("later", { n: 1 }, { to: A }), { key: "later" }), { ok: 7 });
      assert.equal((await tallyOf(again, A)).n, 2);
    });

    it(
      "C4 what only reads reads again, whatever its key was used for",
      async ({ engine }) => {
        assert.deepEqual(await engine.call(say("add", null, { to: A }), { key: "k" }), { ok: 1 });
        assert.deepEqual(await engine.call(say("get", null, { to: A }), { key: "k" }), { ok: 1 });
      },
      { kinds: (hooks) => [tallyKind("tally", {}, hooks, { catalogue: READING, view: () => ({ ok: null }) })] },
    );

    for (const [of, more] of [
      ["", {}],
      [" (autoStart)", { per: "link", autoStart: true }],
      [" (shared, linked)", { per: "shared" }],
    ] as const)
      it(
        `C4 the actor of a keyed call is found while its reply is stored${of}`,
        async ({ engine, clock }) => {
          const viewer = { principal: "ann", scopes: [] };
          const later = engine.call({ ...say("later", null, { to: A }), viewer }, { key: "k" });
          await logged(engine, A, /^later /);
          await clock.advance(900);
          await engine.call(say("answer", { value: 7 }, { to: A }));
          assert.deepEqual(await later, { ok: 7 });
          await clock.advance(500);
          assert.equal(await engine.keyed?.("tally", viewer, "k"), A);
        },
        {
          keyMs: 1_000,
          kinds: (hooks) => [
            tallyKind("tally", {}, hooks, more),
            tallyKind("hall", {}, hooks, { catalogue: { tools: [], resources: [], prompts: [], links: { room: ["tally"] } } }),
          ],
        },
      );

    it("a deadline that never comes is none", async ({ engine }) => {
      assert.deepEqual(await engine.call(say("add", null, { to: A, deadline: Infinity })), { ok: 1 });
      const { message } = readBody((await chainOf(engine, A)).at(-1) ?? assert.fail()) ?? {};
      assert.ok(!("deadline" in objectOf(message)));
    });

    it(
      "work without a limit calls others",
      async ({ engine }) => {
        assert.deepEqual(await engine.call(say("call", { to: B, action: "add", start: null }, { to: A })), { ok: 1 });
      },
      { policy: { workMs: Infinity } },
    );

    it("a limit that is lifted for one actor falls back to that of its kind", async ({ engine }) => {
      const policy = { maxStateBytes: Infinity, mailbox: Infinity };
      assert.deepEqual(await engine.call({ ...say("add", null, { to: A }), policy }), { ok: 1 });
    });

    it(
      "C4 keys expire #engine.c4",
      async ({ engine, clock }) => {
        await engine.call(say("add", null, { to: A }), { key: "k" });
        await clock.advance(999);
        assert.deepEqual(await engine.call(say("add", null, { to: A }), { key: "k" }), { ok: 1 });
        await clock.advance(2);
        assert.deepEqual(await engine.call(say("add", null, { to: A }), { key: "k" }), { ok: 2 });
      },
      { keyMs: 1_000 },
    );

    it("a cancelled call is withdrawn, its work aborted; a committed one stays #actors.work.abort #gateway.leave.modern", async ({
      engine,
      hooks,
    }) => {
      const saw: string[] = [];
      hooks.saw = (what, message) => saw.push(`${what} ${message.action}`);
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      const working = new AbortController();
      const waiting = new AbortController();
      const first = engine.call(say("work", null, { to: A }), { signal: working.signal });
      await until("work runs", () => saw.includes("work work"));
      const second = engine.call(say("add", null, { to: A }), { signal: waiting.signal });
      const third = engine.call(say("add", { by: 5 }, { to: A }));
      waiting.abort();
      await assert.rejects(second, { code: "CANCELLED", applied: false });
      working.abort();
      await assert.rejects(first, { code: "CANCELLED", applied: false });
      assert.deepEqual(await third, { ok: 5 });
      assert.ok(saw.includes("abort work"));
      await assert.rejects(engine.call(say("add", null, { to: A }), { signal: AbortSignal.abort() }), { code: "CANCELLED" });
      gate.resolve();
      await settle();
      assert.equal((await tallyOf(engine, A)).n, 5, "what fenced work returns is dropped");
    });

    it("if one of two callers of a key cancels, the other is answered", async ({ engine, hooks }) => {
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      const leaving = new AbortController();
      const first = engine.call(say("work", null, { to: A }), { key: "k", signal: leaving.signal });
      const second = engine.call(say("work", null, { to: A }), { key: "k" });
      await settle();
      leaving.abort();
      await assert.rejects(first, { code: "CANCELLED" });
      gate.resolve();
      assert.deepEqual(await second, { ok: 1 });
    });

    it("a deadline ends both waiting and work #actors.work.abort", async ({ engine, clock, hooks }) => {
      let begun = false;
      hooks.gate = () => {
        begun = true;
        return new Promise(() => undefined);
      };
      const working = engine.call(say("work", null, { to: A, deadline: clock.now() + 50 }));
      working.catch(() => undefined);
      await until("it works", () => begun);
      const waiting = engine.call(say("add", null, { to: A, deadline: clock.now() + 20 }));
      waiting.catch(() => undefined);
      await clock.advance(30);
      await assert.rejects(waiting, { code: "DEADLINE", applied: false });
      await clock.advance(30);
      await assert.rejects(working, { code: "DEADLINE", applied: false });
      await assert.rejects(engine.call(say("add", null, { to: A, deadline: clock.now() - 1 })), { code: "DEADLINE", applied: false });
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
    });

    it(
      "work past its time limit is fenced off: its call fails, its result is dropped, the mailbox continues #actors.work.fence #spec.6.tools.caution",
      async ({ engine, clock, hooks }) => {
        const saw: string[] = [];
        hooks.saw = (what) => saw.push(what);
        const gate = Promise.withResolvers<void>();
        hooks.gate = () => gate.promise;
        const overrun = engine.call(say("overrun", null, { to: A }));
        overrun.catch(() => undefined);
        await clock.advance(501);
        await assert.rejects(overrun, { code: "WORK_TIMEOUT", applied: false });
        assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
        gate.resolve();
        await until("the work past its time used its context", () => saw.some((line) => line.startsWith("codes")));
        assert.ok(saw.includes("codes TURN_OVER TURN_OVER"));
        await settle();
        assert.deepEqual((await tallyOf(engine, A)).n, 1);
      },
      { policy: { workMs: 500 } },
    );

    it(
      "a mailbox is bounded #actors.mailbox #packet.isolation.limits",
      async ({ engine, hooks }) => {
        if (!engine.traits.has("mailbox-bound")) return;
        const gate = Promise.withResolvers<void>();
        hooks.gate = () => gate.promise;
        await engine.call(say("add", null, { to: A }));
        const calls = [
          engine.call(say("work", null, { to: A })),
          ...Array.from({ length: 3 }, () => engine.call(say("add", null, { to: A }))),
        ];
        await assert.rejects(engine.call(say("add", null, { to: A })), { code: "MAILBOX_FULL", applied: false });
        gate.resolve();
        assert.deepEqual((await Promise.all(calls)).at(-1), { ok: 5 });
      },
      { policy: { mailbox: 3 } },
    );

    it("`later` delays the reply, not the mailbox; a later turn answers #actors.later", async ({ engine }) => {
      const held = engine.call(say("later", null, { to: A }));
      await until("it is held", async () => (await logOf(engine, A)).length > 0);
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
      await engine.call(say("answer", { value: "at last" }, { to: A }));
      assert.deepEqual(await held, { ok: "at last" });
    });

    it("`later` survives a restart: a keyed call that is repeated is answered, once #actors.later", async ({ engine, opened }) => {
      engine.call(say("later", null, { to: A }), { key: "k" }).catch(() => undefined);
      await logged(engine, A, /^later /);
      const again = await opened.reopen();
      const heard: unknown[] = [];
      const back = again.call(say("later", null, { to: A }), { key: "k", onProgress: (...step) => heard.push(step) });
      await settle(20);
      await until("it hears what is reported", async () => {
        await again.call(say("report", { done: 1 }, { to: A }));
        return heard.length > 0 || !again.traits.has("progress");
      });
      await again.call(say("answer", { value: 7 }, { to: A }));
      assert.deepEqual(await back, { ok: 7 });
      for (const step of heard) assert.deepEqual(step, [1, 2, "so far"]);
      assert.deepEqual(await again.call(say("later", null, { to: A }), { key: "k" }), { ok: 7 });
    });

    it("a repeated keyed call gets the progress of the first, whose caller may have disconnected", async ({ engine }) => {
      if (!engine.traits.has("progress")) return;
      const heard = new Set<string>();
      const ask = (who: string): Promise<Reply> =>
        engine.call(say("later", null, { to: A }), { key: "k", onProgress: () => heard.add(who) });
      const first = ask("first");
      await logged(engine, A, /^later /);
      const again = ask("again");
      await until("both hear", async () => {
        await engine.call(say("report", { done: 1 }, { to: A }));
        return heard.size === 2;
      });
      await engine.call(say("answer", { value: 7 }, { to: A }));
      assert.deepEqual([await first, await again], [{ ok: 7 }, { ok: 7 }]);
    });

    it("a call answered by `later` that is cancelled or times out has been applied", async ({ engine, clock }) => {
      const leaving = new AbortController();
      const left = engine.call(say("later", null, { to: A }), { signal: leaving.signal });
      const deadline = clock.now() + 100;
      const timedOut = [{}, { key: "k" }].map((options) => engine.call(say("later", null, { to: B, deadline }), options));
      for (const one of timedOut) one.catch(() => undefined);
      await logged(engine, A, /^later /);
      await logged(engine, B, /^later /);
      await settle(20);
      leaving.abort();
      await assert.rejects(left, { code: "CANCELLED", applied: true });
      await clock.advance(101);
      for (const one of timedOut) await assert.rejects(one, { code: "DEADLINE", applied: true });
    });

    it("reports of turns reach a caller that waits for `later`, and are not stored", async ({ engine }) => {
      if (!engine.traits.has("progress")) return;
      const heard: unknown[] = [];
      const held = engine.call(say("later", { done: 0 }, { to: A }), { onProgress: (...step) => heard.push(step) });
      const answered = held.then((reply) => heard.push(reply));
      await logged(engine, A, /^later /);
      await settle(20);
      for (const done of [1, 2]) await engine.call(say("report", { done }, { to: A }));
      const of = (await logOf(engine, A)).find((line) => line.startsWith("later "))?.slice(6) ?? assert.fail("no line has the id");
      await engine.call(say("report", { done: 9, of }, { to: B }));
      await engine.call(say("answer", { value: "at last" }, { to: A }));
      await answered;
      await engine.call(say("report", { done: 3 }, { to: A }));
      assert.deepEqual(heard, [[0, undefined, undefined], [1, 2, "so far"], [2, 2, "so far"], { ok: "at last" }]);
      const chain = await chainOf(engine, A);
      assert.ok(chain.length >= 4 && !JSON.stringify(chain).includes("so far"));
    });

    it("emitted lines reach watchers after the commit, and are not stored", async ({ engine }) => {
      const heard: unknown[] = [];
      engine.watch(A, (change) => heard.push([change.seq, change.emit]));
      await engine.call(say("emit", { what: "m1", change: true }, { to: A }));
      assert.deepEqual(heard, [[1, ["m1"]]]);
      assert.ok(!JSON.stringify(await chainOf(engine, A)).includes('"emit":["m1"]'));
    });

    it("a watcher that throws does not affect others", async ({ engine }) => {
      const heard: number[] = [];
      engine.watch(A, () => {
        throw new Error("mine");
      });
      engine.watch(A, ({ seq }) => heard.push(seq));
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
      assert.deepEqual(heard, [1]);
    });

    it(
      "an actor owned by its starter does not exist for others #actors.owner",
      async ({ engine }) => {
        const ann = { principal: "ann", scopes: [] };
        const bob = { principal: "bob", scopes: [] };
        await engine.call(say("add", null, { to: A, viewer: ann }));
        assert.equal((await engine.read(A))?.owner, "ann");
        const others = [
          engine.call({ to: A, action: "add", args: null, viewer: bob }),
          engine.call({ to: A, action: "add", args: null, viewer: { scopes: [] } }),
          engine.call({ to: B, action: "add", args: null, viewer: bob }),
        ];
        const outcomes = await Promise.allSettled(others);
        assert.deepEqual(
          outcomes.map((result) => result.status === "rejected" && Object.assign({}, { code: Reflect.get(result.reason, "code") })),
          [{ code: "NO_ACTOR" }, { code: "NO_ACTOR" }, { code: "NO_ACTOR" }],
        );
        assert.deepEqual(await engine.call({ to: A, action: "add", args: null, viewer: ann }), { ok: 2 });
        assert.deepEqual(
          (await engine.list({ owner: "ann", limit: 10 })).map(({ id }) => id),
          [A],
        );
        assert.equal(await engine.count({ owner: "bob" }), 0);
      },
      { policy: { owner: "starter" } },
    );

    it(
      "a message has the roles of its caller, and an event has no claims #secure.logs",
      async ({ engine }) => {
        const ann = { principal: "ann", scopes: [], claims: { groups: ["group", "secret"] } };
        await engine.call(say("add", null, { to: A, viewer: ann }));
        await engine.call(say("add", null, { to: A, viewer: { principal: "bob", scopes: [] } }));
        const viewers = (await chainOf(engine, A)).map((event) => objectOf(readBody(event)?.message)["viewer"]);
        assert.deepEqual(viewers, [
          { principal: "ann", scopes: [], rolesByKind: { tally: ["group"] } },
          { principal: "bob", scopes: [] },
        ]);
      },
      {
        kinds: (hooks) => [
          { ...tallyKind("tally", {}, hooks), roles: ({ claims }) => (JSON.stringify(claims).includes("group") ? ["group"] : []) },
        ],
      },
    );

    it("actors are listed in order, counted, and found by their uid", async ({ engine }) => {
      for (const key of ["c", "a", "b"]) await engine.call(say("add", null, { to: idIs("tally", key) }));
      const all = await engine.list({ kind: "tally", limit: 10 });
      assert.deepEqual(
        all.map(({ id, seq, status }) => [id, seq, status]),
        [
          ["tally/a", 1, "live"],
          ["tally/b", 1, "live"],
          ["tally/c", 1, "live"],
        ],
      );
      assert.deepEqual(
        (await engine.list({ kind: "tally", after: "tally/a", limit: 1 })).map(({ id }) => id),
        ["tally/b"],
      );
      assert.equal(await engine.count({ kind: "tally" }), 3);
      await engine.stop(idIs("tally", "c"), "enough");
      assert.deepEqual(
        (await engine.list({ kind: "tally", live: true, limit: 10 })).map(({ id }) => id),
        ["tally/a", "tally/b"],
      );
      assert.equal(await engine.count({ kind: "tally", live: true }), 2);
      const [event] = await chainOf(engine, B);
      const { life }: { life: string } = JSON.parse(event?.header ?? "{}");
      assert.equal(await engine.find(life), B);
      assert.equal(await engine.find("unknown"), undefined);
      assert.deepEqual(await engine.event(event?.id ?? ""), event);
    });
  });
}
