// Owns: the tests of engines that need one actor only. Does not own: the other ones (engine-suite.ts).
import assert from "node:assert/strict";
import {
  type ActorId,
  type Behaviour,
  type ChainEvent,
  type Clock,
  type Engine,
  type Entropy,
  isJsonObject,
  type Json,
  type Outgoing,
  type Reply,
} from "../../core/contract/index.ts";
import { SimulatedClock, SimulatedEntropy, until } from "../simulated-clock.ts";
import { type Hooks, type Tally, tallyKind } from "./suite-kinds.ts";

/** What the suite gives to each engine that it opens. */
export interface SuiteOptions {
  readonly kinds: readonly Behaviour[];
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** How long keyed replies are remembered; the engine's default otherwise. */
  readonly keyMs?: number;
}

/** An engine under test, and the place that outlives it. */
export interface Opened extends AsyncDisposable {
  readonly engine: Engine;
  /** Another engine on the durable data of the first, which is dropped without closing it. */
  reopen(kinds?: readonly Behaviour[]): Promise<Engine>;
}

/** The clock of the suite. `advance` waits for all that its timers caused, also outside the process. */
export interface SuiteClock {
  readonly clock?: () => SimulatedClock;
}

/** Opens the engine that the suite tests. */
export type OpenEngine = (options: SuiteOptions) => Promise<Opened>;

export const idIs = (kind: string, key = "main"): ActorId => `${kind}/${key}`;
const TALLY = idIs("tally");

export const say = (action: string, args: Json = null, more: Partial<Outgoing> = {}): Outgoing => ({
  to: TALLY,
  action,
  args,
  start: null,
  ...more,
});

/** All events of an actor. */
export async function chainOf(engine: Engine, id: ActorId): Promise<ChainEvent[]> {
  const events: ChainEvent[] = [];
  for await (const event of engine.history(id)) events.push(event);
  return events;
}

/** The state as a tally. Fails the test if it is not one. */
export async function tallyOf(engine: Engine, id: ActorId = TALLY): Promise<Tally> {
  const state: unknown = (await engine.read(id))?.state;
  assert.ok(isTally(state), `${id} has no tally`);
  return state;
}

const isTally = (state: unknown): state is Tally => typeof state === "object" && state !== null && "n" in state && "log" in state;

/** A workload of one caller, one call after the other: with time and randomness given, its chain is the same text in every engine. */
export async function goldenWorkload(engine: Engine): Promise<readonly ChainEvent[]> {
  const steps: readonly (readonly [string, Json?])[] = [
    ["add", { by: 3 }],
    ["note", { text: '☃ \u2028 "quoted"' }],
    ["get"],
    ["when"],
    ["refuse"],
    ["note", { text: "a", secret: "hidden" }],
    ["work", { by: 4 }],
    ["record", { host: ["call", 1.5e-7] }],
    ["same"],
    ["needs"],
    ["grow", { bytes: 3_000 }],
    ["add", { by: -0.25 }],
    ["add"],
  ];
  for (const [action, args = null] of steps) await engine.call(say(action, args));
  await engine.call(say("add", null, { viewer: { principal: "ann", scopes: ["x"] }, trace: { traceparent: "00-1-2-01" } }), {
    answers: { a: 1 },
    can: ["roots"],
  });
  await engine.call(say("throw")).catch(() => undefined);
  await engine.call(say("add", { by: 100 }));
  return chainOf(engine, TALLY);
}

const rejects = (call: Promise<Reply>, code: string, applied: boolean | "unknown" = false): Promise<void> =>
  assert.rejects(call, { name: "EngineError", code, applied });

function life(event: ChainEvent | undefined): string {
  const header: { life: string } = JSON.parse(event?.header ?? "{}");
  return header.life;
}

/** The part of the engine suite that needs one actor: pure turns, work, reads, the chain. */
export function turnSuite(
  name: string,
  open: OpenEngine,
  { clock: newClock = () => new SimulatedClock() }: SuiteClock = {},
  disk: Behaviour["policy"]["persistence"] = "disk",
): void {
  const { describe, test } = process.getBuiltinModule("node:test");
  const hooks: { gate?: () => Promise<unknown>; saw?: NonNullable<Hooks["saw"]> } = {};
  const given: Hooks = { gate: () => hooks.gate?.() ?? Promise.resolve(), saw: (what, message) => hooks.saw?.(what, message) };
  const kind = tallyKind("tally", { persistence: disk }, given);
  const it = (title: string, run: (engine: Engine, opened: Opened) => Promise<void>): void => {
    test(title, async () => {
      delete hooks.gate;
      delete hooks.saw;
      await using opened = await open({ kinds: [kind], clock: newClock(), entropy: new SimulatedEntropy() });
      await run(opened.engine, opened);
    });
  };

  describe(`${name}: one actor`, () => {
    it("a call of an actor that never started is refused, and starts nothing", async (engine) => {
      await rejects(engine.call({ to: TALLY, action: "add", args: null }), "NO_ACTOR");
      assert.equal(await engine.read(TALLY), undefined);
      await rejects(engine.call(say("add", null, { to: idIs("unheard-of") })), "UNKNOWN_KIND");
      for (const bad of ["tally/", "tally/a/b", "Tally/a", "tally/%zz", `tally/${"x".repeat(257)}`, "tally/a b"] as const)
        await rejects(engine.call(say("add", null, { to: bad })), "BAD_ID");
    });

    it("an actor starts with a message that has `start`; a read has its seq, head and status", async (engine) => {
      assert.deepEqual(await engine.call(say("add", { by: 2 }, { start: { n: 40 } })), { ok: 42 });
      assert.deepEqual(await engine.call({ to: TALLY, action: "add", args: null }), { ok: 43 });
      const now = await engine.read(TALLY);
      const chain = await chainOf(engine, TALLY);
      const [createdAt, lastMessageAt] = chain.map(({ header }): number => JSON.parse(header).at);
      assert.deepEqual(now && { ...now }, {
        id: TALLY,
        uid: chain[0] === undefined ? "" : JSON.parse(chain[0].header).life,
        seq: 2,
        head: chain[1]?.id,
        status: "live",
        state: { n: 43, log: [] },
        version: 1,
        createdAt,
        lastMessageAt,
        messageCount: 2,
        persistence: disk,
      });
    });

    it("a first turn without effect starts the actor, a refused one does not", async (engine) => {
      assert.deepEqual(await engine.call(say("refuse")), { refused: { code: "NO", message: "No." } });
      assert.equal(await engine.read(TALLY), undefined);
      assert.deepEqual(await engine.call(say("get")), { ok: 0 });
      assert.equal((await engine.read(TALLY))?.seq, 1);
    });

    it("C1 calls of one actor run one after the other, work included #engine.c1 #spec.7.state.concurrent", async (engine) => {
      const order: string[] = [];
      hooks.saw = (what, message) => order.push(`${what} ${message.action}`);
      const gate = Promise.withResolvers<void>();
      hooks.gate = () => gate.promise;
      await engine.call(say("add"));
      const working = engine.call(say("work", { by: 10 }));
      await until("it works", () => order.includes("work work"));
      const behind = engine.call(say("add"));
      assert.deepEqual(await engine.read(TALLY).then((now) => now?.state), { n: 1, log: [] }, "views never queue");
      assert.ok(!order.includes("receive add") || order.filter((line) => line === "receive add").length === 1);
      gate.resolve();
      assert.deepEqual(await Promise.all([working, behind]), [{ ok: 11 }, { ok: 12 }]);
    });

    it("C2 when a call settles its turn is visible, and watchers have been notified #engine.c2 #spec.7.state.consistent", async (engine) => {
      const seen: string[] = [];
      const undo = engine.watch(TALLY, (change) => seen.push(`change ${change.seq}`));
      const undoKind = engine.watch("tally/*", (change) => seen.push(`kind ${change.seq} ${change.status}`));
      const reply = await engine.call(say("add")).then(async (ok) => {
        seen.push("reply");
        return ok;
      });
      assert.deepEqual(reply, { ok: 1 });
      assert.deepEqual(seen, ["change 1", "kind 1 live", "reply"]);
      assert.equal((await tallyOf(engine)).n, 1);
      undo();
      undoKind();
      await engine.call(say("add"));
      assert.equal(seen.length, 3);
    });

    it("C2 concurrent calls each get their own reply, in order", async (engine) => {
      const replies = await Promise.all(Array.from({ length: 300 }, () => engine.call(say("add"))));
      const values = replies.map((reply) => ("ok" in reply ? Number(reply.ok) : 0));
      assert.deepEqual(
        engine.traits.has("call-order") ? values : values.toSorted((one, other) => one - other),
        Array.from({ length: 300 }, (_, index) => index + 1),
      );
      assert.equal((await chainOf(engine, TALLY)).length, 300);
    });

    it("C3 a refusal, a throw and `needs` leave no trace #actors.refuse #engine.c3", async (engine, opened) => {
      await engine.call(say("add"));
      assert.deepEqual(await engine.call(say("refuse")), { refused: { code: "NO", message: "No." } });
      assert.deepEqual(await engine.call(say("needs")), { needs: { name: { method: "elicitation/create", params: {} } } });
      await assert.rejects(engine.call(say("throw")), (error: Error & { code?: string; applied?: boolean }) => {
        assert.deepEqual([error.code, error.applied], ["CRASHED", false]);
        assert.match(error.message, /tally\/main crashed at event 2: your call was not applied/);
        assert.doesNotMatch(error.message, /secret detail/);
        return true;
      });
      assert.deepEqual(await engine.call(say("refuse-work")), { refused: { code: "NO", message: "No." } });
      await rejects(engine.call(say("work", { fail: true })), "CRASHED");
      assert.deepEqual(await tallyOf(engine), { n: 1, log: [] });
      assert.equal((await chainOf(engine, TALLY)).length, 1);
      assert.deepEqual(await engine.call(say("add")), { ok: 2 });
      const again = await opened.reopen();
      assert.deepEqual(await again.call(say("add")), { ok: 3 });
    });

    it("C3 of refused work only what it recorded is stored; a record alone is an event", async (engine, opened) => {
      await engine.call(say("add"));
      assert.deepEqual(await engine.call(say("record-refused", { what: { paid: 3 } })), { refused: { code: "NO", message: "No." } });
      assert.deepEqual(await tallyOf(engine), { n: 1, log: [] });
      await engine.call(say("only-record", { what: "seen" }));
      const again = await opened.reopen();
      const chain = await chainOf(again, TALLY);
      assert.deepEqual(
        chain.map(({ body = "" }) => JSON.parse(body).record),
        [undefined, { paid: 3 }, "seen"],
      );
      assert.deepEqual(await again.call(say("add")), { ok: 2 });
    });

    it("a call is repeated from the start with the answers it needed", async (engine) => {
      assert.deepEqual(await engine.call(say("needs"), { answers: { name: "Ann" }, can: ["elicitation"] }), { ok: { name: "Ann" } });
      assert.deepEqual((await tallyOf(engine)).log, ["Ann"]);
    });

    it("state that is not JSON is refused with its path, and state beyond its bound #actors.state-bound #packet.isolation.limits", async (engine) => {
      await engine.call(say("add"));
      await assert.rejects(engine.call(say("not-json")), { code: "STATE_NOT_JSON", applied: false, message: /state\.log\[0\]/ });
      await rejects(engine.call(say("grow", { bytes: 1_100_000 })), "STATE_TOO_LARGE");
      for (let turn = 0; turn < 6; turn += 1) await engine.call(say("grow", { bytes: 150_000 }));
      await rejects(engine.call(say("grow", { bytes: 150_000 })), "STATE_TOO_LARGE");
      assert.equal((await chainOf(engine, TALLY)).length, 7);
      assert.deepEqual(await engine.call(say("add")), { ok: 2 });
    });

    it("a lone surrogate in a call is refused with its path if a turn or work fails on it", async (engine) => {
      await engine.call(say("add"));
      const half: string = JSON.parse('"\\ud800"');
      for (const [action, args, path] of [
        ["note", { text: half }, "text"],
        ["emit", { what: half }, "what"],
        ["send", { to: "tally/a", action: "note", with: [half] }, "with.0"],
        ["throw", { [half]: 1 }, "\ufffd"],
        ["work", { fail: true, about: half }, "about"],
      ] as const) {
        const reply = await engine.call(say(action, args));
        assert.ok("refused" in reply, action);
        const { code, message, data } = reply.refused;
        assert.equal(code, "INVALID");
        assert.match(message, /half a character/);
        assert.deepEqual(isJsonObject(data) && data["issues"], [
          { path, message: message.slice(`Invalid arguments: ${path}: `.length, -1) },
        ]);
      }
      assert.deepEqual(await engine.call(say("same", { unused: half })), { ok: "same" });
      assert.equal((await chainOf(engine, TALLY)).length, 1);
    });

    it("law 2: a state that was read is frozen, and does not change #actors.freeze #spec.7.state.consistent", async (engine) => {
      await engine.call(say("note", { text: "one" }));
      const before = await tallyOf(engine);
      assert.ok(Object.isFrozen(before) && Object.isFrozen(before.log));
      await engine.call(say("note", { text: "two" }));
      assert.deepEqual(before.log, ["one"]);
    });

    it("law 4: a turn's time and randomness are the message's, and in the chain", async (engine) => {
      const reply = await engine.call(say("when"));
      assert.ok("ok" in reply);
      const [event] = await chainOf(engine, TALLY);
      const body: { message: { at: number; seed: string } } = JSON.parse(event?.body ?? "{}");
      assert.deepEqual(reply.ok, { at: body.message.at, seed: body.message.seed });
      assert.match(body.message.seed, /^[0-9a-f]{32}$/u);
    });

    it("C7 each event names its predecessor, and secrets are not written #chain.redact #gateway.trace", async (engine) => {
      await engine.call(say("note", { text: "a", secret: "hush" }));
      await engine.call(say("work"));
      await engine.call(say("note", { text: "b" }, { trace: { traceparent: "00-1-2-01" } }));
      const chain = await chainOf(engine, TALLY);
      const headers = chain.map(({ header }): { parent: string | null; seq: number; type: string } => JSON.parse(header));
      assert.deepEqual(
        headers.map(({ parent, seq, type }) => [parent, seq, type]),
        [
          [null, 1, "note"],
          [chain[0]?.id, 2, "work"],
          [chain[1]?.id, 3, "note"],
        ],
      );
      assert.ok(!JSON.stringify(chain).includes("hush"));
      assert.match(chain[2]?.body ?? "", /00-1-2-01/);
    });

    it("durable state, seq and head are there after a restart", async (engine, opened) => {
      for (let turn = 0; turn < 150; turn += 1) await engine.call(say("note", { text: `line ${turn}` }));
      const before = await engine.read(TALLY);
      const again = await opened.reopen();
      const after = await again.read(TALLY);
      assert.deepEqual(after && { ...after }, before && { ...before });
      await again.call({ to: TALLY, action: "add", args: null });
      assert.equal((await again.read(TALLY))?.seq, 151);
    });

    it("work reports progress and log to its caller, and its receipt names the event #actors.work.progress", async (engine) => {
      const heard: unknown[] = [];
      const reply = await engine.call(say("work", { by: 2 }), {
        onProgress: (...step) => heard.push(step),
        onLog: (level, data) => heard.push([level, data]),
        onReceipt: (receipt) => heard.push(receipt),
      });
      assert.deepEqual(reply, { ok: 2 });
      const [event] = await chainOf(engine, TALLY);
      assert.deepEqual(heard.at(-1), { actor: TALLY, seq: 1, head: event?.id });
      if (engine.traits.has("progress"))
        assert.deepEqual(heard.slice(0, 2), [
          [1, 2, "half", { half: "done" }],
          ["info", { at: "work" }],
        ]);
    });

    it("C4 a keyed call gets its first reply again, by key and principal; without a key it is applied again #engine.c4", async (engine, opened) => {
      const ann = { viewer: { principal: "ann", scopes: [] } };
      assert.deepEqual(await engine.call(say("add", null, ann), { key: "k" }), { ok: 1 });
      assert.deepEqual(await engine.call(say("add", null, ann), { key: "k" }), { ok: 1 });
      assert.deepEqual(await engine.call(say("add"), { key: "k" }), { ok: 2 });
      assert.deepEqual(await engine.call(say("add", null, ann)), { ok: 3 });
      const again = await opened.reopen();
      assert.deepEqual(await again.call(say("add", null, ann), { key: "k" }), { ok: 1 });
      assert.equal((await tallyOf(again)).n, 3);
    });

    it("C4 the reply to a keyed call is remembered although its turn has no other effect #engine.c4", async (engine, opened) => {
      await engine.call(say("add"));
      assert.deepEqual(await engine.call(say("get"), { key: "k" }), { ok: 1 });
      await engine.call(say("add"));
      const again = await opened.reopen();
      assert.deepEqual(await again.call(say("get"), { key: "k" }), { ok: 1 });
      await rejects(again.call(say("same"), { key: "k" }), "KEY_REUSED");
    });

    it("C4 a keyed call that was not applied is tried again #engine.c4", async (engine) => {
      assert.ok("refused" in (await engine.call(say("refuse"), { key: "k" })));
      await rejects(engine.call(say("throw"), { key: "k" }), "CRASHED");
      assert.deepEqual(await engine.call(say("add"), { key: "k" }), { ok: 1 });
      assert.deepEqual(await engine.call(say("add"), { key: "k" }), { ok: 1 });
    });

    it("stopping ends the life; `start` begins another one", async (engine) => {
      await engine.call(say("add"));
      await engine.stop(TALLY, "enough");
      assert.equal((await engine.read(TALLY))?.status, "stopped");
      await rejects(engine.call({ to: TALLY, action: "add", args: null }), "ACTOR_STOPPED");
      assert.deepEqual(await engine.call(say("add")), { ok: 1 });
      const [first, , third] = await chainOf(engine, TALLY);
      assert.notEqual(life(first), life(third));
      assert.deepEqual(await engine.call(say("stop", { reason: "myself" })), { ok: "stopped" });
      assert.equal((await engine.read(TALLY))?.status, "stopped");
    });

    it("a state of an older version is migrated in memory, a newer one is refused #actors.migrate", async (engine, opened) => {
      await engine.call(say("add", { by: 5 }));
      const newer = tallyKind("tally", { persistence: disk }, given, {
        version: 2,
        migrate: (state) => (isTally(state) ? { n: state.n * 10, log: ["migrated"] } : { n: 0, log: [] }),
      });
      const second = await opened.reopen([newer]);
      assert.deepEqual(await tallyOf(second), { n: 50, log: ["migrated"] });
      assert.equal((await chainOf(second, TALLY)).length, 1);
      assert.deepEqual(await second.call(say("add")), { ok: 51 });
      const third = await opened.reopen([kind]);
      await assert.rejects(third.call(say("add")), { code: "STATE_NEWER", applied: false });
    });

    it("the same workload writes the same chain, byte for byte", async (engine) => {
      const chain = await goldenWorkload(engine);
      await using other = await open({ kinds: [kind], clock: newClock(), entropy: new SimulatedEntropy() });
      assert.deepEqual(await goldenWorkload(other.engine), chain);
    });
  });
}
