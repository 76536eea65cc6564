// Owns: the tests of every engine. Does not own: those of one actor (turn-suite.ts), the kinds (suite-kinds.ts).
import assert from "node:assert/strict";
import { readBody } from "../../core/chain/index.ts";
import {
  type ActorId,
  type JsonObject,
  type Behaviour,
  type Engine,
  isJsonObject,
  type Json,
  type Outgoing,
  type Policy,
  type Reply,
  type Snapshot,
} from "../../core/contract/index.ts";
import { settle, SimulatedClock, SimulatedEntropy, until } from "../simulated-clock.ts";
import { tallyKind, type Hooks } from "./suite-kinds.ts";
import { chainOf, idIs, say, tallyOf, turnSuite, type OpenEngine, type Opened, type SuiteClock } from "./turn-suite.ts";

const A: ActorId = "tally/a";
const B: ActorId = "tally/b";

interface Stage {
  readonly engine: Engine;
  readonly opened: Opened;
  readonly clock: SimulatedClock;
  readonly hooks: { gate?: () => Promise<unknown>; saw?: NonNullable<Hooks["saw"]> };
}

interface Wanted {
  readonly policy?: Partial<Policy>;
  readonly kinds?: (hooks: Hooks) => readonly Behaviour[];
  readonly keyMs?: number;
}

const logOf = async (engine: Engine, id: ActorId): Promise<readonly string[]> =>
  (await engine.read(id)) ? (await tallyOf(engine, id)).log : [];
const logged = (engine: Engine, id: ActorId, line: string | RegExp): Promise<void> =>
  until(`${id} logs ${String(line)}`, async () =>
    (await logOf(engine, id)).some((own) => (typeof line === "string" ? own === line : line.test(own))),
  );

/** A message without `start`: only an actor that starts on first use starts with it. */
const unstarted = (to: ActorId, action: string, args: Json = null): Outgoing => ({ to, action, args });

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** When it started, when its last message arrived, and the number of its messages. */
const known = async (engine: Engine, id: ActorId): Promise<readonly unknown[]> => {
  const now = await engine.read(id);
  return [now?.createdAt, now?.lastMessageAt, now?.messageCount];
};

const inMemoryToo = (hooks: Hooks): readonly Behaviour[] => [
  tallyKind("tally", {}, hooks),
  tallyKind("note", { persistence: "memory" }, hooks),
];

/** Registers the tests that every engine passes, and those of the `traits` that it claims, with `node:test`. */
export function engineSuite(name: string, open: OpenEngine, { clock: newClock = () => new SimulatedClock() }: SuiteClock = {}): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  turnSuite(name, open, { clock: newClock });
  const it = (title: string, run: (stage: Stage) => Promise<void>, wanted: Wanted = {}): void => {
    test(title, async () => {
      const hooks: Stage["hooks"] = {};
      const given: Hooks = { gate: () => hooks.gate?.() ?? Promise.resolve(), saw: (what, message) => hooks.saw?.(what, message) };
      const clock = newClock();
      const kinds = wanted.kinds?.(given) ?? [tallyKind("tally", wanted.policy, given)];
      await using opened = await open({
        kinds,
        clock,
        entropy: new SimulatedEntropy(7),
        ...(wanted.keyMs === undefined ? {} : { keyMs: wanted.keyMs }),
      });
      await run({ engine: opened.engine, opened, clock, hooks });
    });
  };
  const itInMemory = (title: string, run: (stage: Stage) => Promise<void>): void =>
    it(title, async (stage) => (stage.engine.traits.has("memory-actors") ? run(stage) : undefined), { kinds: inMemoryToo });

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
      const timedOut = engine.call(say("later", null, { to: B, deadline: clock.now() + 100 }));
      timedOut.catch(() => undefined);
      await logged(engine, A, /^later /);
      await logged(engine, B, /^later /);
      await settle(20);
      leaving.abort();
      await assert.rejects(left, { code: "CANCELLED", applied: true });
      await clock.advance(101);
      await assert.rejects(timedOut, { code: "DEADLINE", applied: true });
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

    it("`send` from outside settles when durable, and is delivered after a restart", async ({ engine, opened }) => {
      await engine.send(say("note", { text: "from a door" }, { to: A }));
      const again = await opened.reopen();
      await logged(again, A, "from a door");
      assert.equal((await logOf(again, A)).filter((line) => line === "from a door").length, 1);
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

    it("an actor whose start throws has failed until it is restarted", async ({ engine }) => {
      await assert.rejects(engine.call(say("add", null, { to: A, start: { explode: true } })), { code: "ACTOR_FAILED", applied: false });
      await assert.rejects(engine.call(say("add", null, { to: A })), { code: "ACTOR_FAILED" });
      await engine.restart(A);
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
    });

    it("an actor whose next start throws has failed too, and watchers are notified", async ({ engine }) => {
      const statuses: string[] = [];
      await engine.call(say("add", null, { to: A }));
      const last = (await engine.read(A))?.lastMessageAt;
      await engine.stop(A, "enough");
      assert.equal((await engine.read(A))?.lastMessageAt, last, "its end is no message");
      engine.watch(A, ({ status }) => statuses.push(status));
      await assert.rejects(engine.call(say("add", null, { to: A, start: { explode: true } })), { code: "ACTOR_FAILED", applied: false });
      await assert.rejects(engine.call(say("add", null, { to: A })), { code: "ACTOR_FAILED" });
      assert.equal((await engine.read(A))?.status, "failed");
      await until("the failure is known", () => statuses.at(-1) === "failed");
      await engine.restart(A);
      assert.equal((await engine.read(A))?.status, "stopped");
      await until("the restart is known", () => statuses.at(-1) === "stopped");
      await assert.rejects(engine.call(say("add", null, { to: A, start: { explode: true } })), { code: "ACTOR_FAILED" });
      await engine.stop(A, "again");
      assert.deepEqual([(await engine.read(A))?.status, (await chainOf(engine, A)).length], ["stopped", 2], "it has ended once");
      assert.deepEqual(await engine.call(say("add", null, { to: A })), { ok: 1 });
      assert.equal((await engine.read(A))?.status, "live");
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
