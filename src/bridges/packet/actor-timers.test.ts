import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import { type Timeout, idle, lifetime, never } from "./actor-timers.ts";
import { type World, as, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import type { Persistence } from "./packet.ts";

const MINUTE = 60_000;

const tally = (id: string, persistence: Persistence, timeout?: Timeout) =>
  actorCapability(id, {
    intent: "Counts",
    initialState: { n: 0 },
    persistence,
    ...(timeout && { timeout }),
    messages: {
      add: {
        run({ state }) {
          state.n += 1;
          return { n: state.n };
        },
      },
    },
  });

const lives = async (on: World, id: string): Promise<boolean> =>
  on.actors.getActorState(id, "a", as("ada")).then(
    () => true,
    () => false,
  );

const nOf = async (on: World, id: string): Promise<unknown> => (await on.say(id, "a", {})).payload["n"];

void test("idle: an actor in memory ends after that time without a message, and starts anew #packet.actor.timeout #packet.end.timeout #packet.config.cleanup #packet.implied.3-idle", async () => {
  await using on = await world([tally("tally", "memory", idle(MINUTE))]);
  await nOf(on, "tally");
  await on.clock.advance(MINUTE - 1);
  assert.equal(await nOf(on, "tally"), 2);
  await on.clock.advance(MINUTE - 1);
  assert.equal(await lives(on, "tally"), true);
  await on.clock.advance(2);
  assert.equal(await lives(on, "tally"), false);
  assert.equal(await nOf(on, "tally"), 1);
});

void test("idle: an actor on disk is unloaded, and reloaded with its state #packet.actor.timeout #packet.implied.3-idle #packet.implied.6-survives", async () => {
  await using on = await world([tally("tally", "disk", idle(MINUTE))], { disk: true });
  await nOf(on, "tally");
  await on.clock.advance(10 * MINUTE);
  assert.equal(await lives(on, "tally"), true);
  assert.equal(await nOf(on, "tally"), 2);
});

void test("an actor without a timeout follows the configuration #packet.config.default-timeout", async () => {
  await using on = await world([tally("tally", "memory"), tally("never", "memory", never)], { actors: { defaultTimeoutMs: 2 * MINUTE } });
  await nOf(on, "tally");
  await nOf(on, "never");
  await on.clock.advance(2 * MINUTE);
  assert.deepEqual([await lives(on, "tally"), await lives(on, "never")], [false, true]);
});

void test("lifetime ends an actor regardless of messages; never does not end it #packet.forward.timeouts", async () => {
  await using on = await world([tally("short", "memory", lifetime(MINUTE)), tally("long", "memory", never)]);
  for (let n = 0; n < 3; n += 1) {
    await nOf(on, "short");
    await nOf(on, "long");
    await on.clock.advance(MINUTE / 3);
  }
  assert.deepEqual([await lives(on, "short"), await lives(on, "long")], [false, true]);
  await on.clock.advance(10_000 * MINUTE);
  assert.equal(await lives(on, "long"), true);
});

void test("a timeout function is called at the start and after each message #packet.forward.timeouts", async () => {
  const counts: number[] = [];
  const timeout: Timeout = ({ message_count }) => {
    counts.push(message_count);
    return [MINUTE, 2 * MINUTE, undefined, Number.POSITIVE_INFINITY, 0][message_count];
  };
  await using on = await world([tally("tally", "memory", timeout)]);
  await on.actors.getOrCreateActor("tally", "a", { viewer: as("ada") });
  await on.clock.advance(MINUTE);
  assert.equal(await lives(on, "tally"), false, "nobody said a word");
  await nOf(on, "tally");
  await on.clock.advance(2 * MINUTE - 1);
  assert.equal(await nOf(on, "tally"), 2);
  await on.clock.advance(100 * MINUTE);
  assert.equal(await nOf(on, "tally"), 3);
  await on.clock.advance(100 * MINUTE);
  assert.equal(await nOf(on, "tally"), 4);
  await on.clock.advance(0);
  assert.equal(await lives(on, "tally"), false);
  assert.deepEqual(counts, [0, 0, 1, 2, 3, 4]);
});

void test("state_timeout applies only to the actor that it starts #packet.message.state-timeout", async () => {
  await using on = await world([tally("tally", "memory", idle(10 * MINUTE))]);
  await on.say("tally", "a", {}, { actor_options: { state_timeout: MINUTE } });
  await on.say("tally", "b", {});
  await on.say("tally", "b", {}, { actor_options: { state_timeout: MINUTE } });
  await on.clock.advance(MINUTE);
  assert.deepEqual(
    (await on.actors.listActors(as("ada"))).map(({ actor_id }) => actor_id),
    ["b"],
  );
});

void test("persistence is chosen at creation, and combined with the capability's timeout #packet.message.persistence #packet.phase.3-persistence #packet.implied.6-override", async () => {
  await using on = await world([tally("kept", "memory", idle(MINUTE)), tally("lost", "disk", idle(MINUTE))], { disk: true });
  await on.say("kept", "a", {}, { actor_options: { persistence: "disk" } });
  await on.say("lost", "a", {}, { actor_options: { persistence: "memory" } });
  const strategy = async (id: string): Promise<string> => (await on.actors.getActorState(id, "a", as("ada"))).metadata.persistence_strategy;
  assert.deepEqual([await strategy("kept"), await strategy("lost")], ["disk", "memory"]);
  await on.say("kept", "a", {}, { actor_options: { persistence: "memory" } });
  assert.equal(await strategy("kept"), "disk", "not once it is there");
  await on.clock.advance(10 * MINUTE);
  await until("the memory actor has ended", async () => !(await lives(on, "lost")));
  assert.equal(await lives(on, "kept"), true);
  await on.restart();
  assert.deepEqual([await nOf(on, "kept"), await nOf(on, "lost")], [3, 1]);
});

void test("an actor does not start where its persistence is unavailable #packet.actor.persistence #packet.implied.2-persistence", async () => {
  await using on = await world([tally("tally", "memory")]);
  for (const persistence of ["disk", "distributed"])
    assert.equal(typeOf(await on.say("tally", "a", {}, { actor_options: { persistence } })), "validation_failed");
  assert.deepEqual(on.faults, [], "it is no fault of the server's");
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
  assert.equal(await nOf(on, "tally"), 1);
});

void test("an invalid timeout is refused", () => {
  for (const ms of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    for (const make of [idle, lifetime]) assert.throws(() => make(ms), { code: "BAD_DEFINITION" });
});

const clockwork = (id: string, persistence: "memory" | "disk", timeout = never) =>
  actorCapability(id, {
    intent: "Ticks",
    initialState: { ticks: 0, value: 0 },
    persistence,
    timeout,
    periodic: {
      tick: {
        everyMs: MINUTE,
        run({ state }) {
          state.ticks += 1;
          if (state.ticks === 2 && state.value === 13) throw new Error("It broke.");
        },
      },
    },
    messages: {
      tell: {
        run({ state, payload }) {
          state.value = Number(payload["n"] ?? 1);
          return { ...state };
        },
      },
    },
  });

const ticksOf = async (on: Awaited<ReturnType<typeof world>>, id: string): Promise<unknown> =>
  Reflect.get(Object((await on.actors.getActorState(id, "a", as("ada"))).state), "ticks");

void test("periodic handlers run by the clock, and are not counted as messages #packet.actor.periodic #packet.implied.5-periodic", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.say("clockwork", "a", {});
  const first = await on.actors.getActorState("clockwork", "a", as("ada"));
  await on.clock.advance(3 * MINUTE);
  const { state, metadata } = await on.actors.getActorState("clockwork", "a", as("ada"));
  assert.deepEqual(state, { ticks: 3, value: 1 });
  assert.deepEqual(metadata, first.metadata);
});

void test("periodic timers are set once, at the start: later messages and starts do not postpone them #packet.implied.5-periodic", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await Promise.all([on.say("clockwork", "a", {}), on.say("clockwork", "a", {})]);
  await on.clock.advance(MINUTE - 1_000);
  await on.say("clockwork", "a", {});
  await on.actors.getOrCreateActor("clockwork", "a", { viewer: as("ada") });
  await on.engine.call({ to: "clockwork/a", action: "troupe/begin", args: null, start: null, viewer: as("ada") });
  await on.clock.advance(1_000);
  assert.equal(await ticksOf(on, "clockwork"), 1);
});

void test("an actor started by another way has its periodic timers too", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.engine.call({ to: "clockwork/a", action: "tell", args: { n: 5 }, start: null, viewer: as("ada") });
  await on.clock.advance(MINUTE);
  assert.deepEqual((await on.actors.getActorState("clockwork", "a", as("ada"))).state, { ticks: 1, value: 5 });
});

void test("periodic timers on disk survive a restart #packet.actor.periodic", async () => {
  await using on = await world([clockwork("clockwork", "disk")], { disk: true });
  await on.say("clockwork", "a", {});
  await on.clock.advance(MINUTE);
  await until("the first tick", async () => (await ticksOf(on, "clockwork")) === 1);
  await on.restart();
  await on.clock.advance(MINUTE);
  await until("the second tick", async () => (await ticksOf(on, "clockwork")) === 2);
});

void test("a periodic handler that crashes changes nothing, and runs again #packet.supervisor.one-for-one", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.say("clockwork", "a", { n: 13 });
  await on.clock.advance(2 * MINUTE + 10_000);
  assert.equal(await ticksOf(on, "clockwork"), 1);
  await on.say("clockwork", "a", { n: 1 });
  await on.clock.advance(2 * MINUTE);
  assert.equal(Number(await ticksOf(on, "clockwork")) > 1, true);
});

void test("an idle actor ends although its periodic handlers run #packet.end.timeout", async () => {
  await using on = await world([clockwork("said", "memory", idle(5 * MINUTE)), clockwork("usual", "memory")]);
  await on.say("said", "a", {});
  await on.say("usual", "a", {}, { actor_options: { state_timeout: 5 * MINUTE } });
  await on.clock.advance(4 * MINUTE);
  await on.say("said", "a", {});
  await on.clock.advance(4 * MINUTE);
  assert.equal(await ticksOf(on, "said"), 8, "a message puts it off");
  await assert.rejects(on.actors.getActorState("usual", "a", as("ada")), { type: "actor_not_found" });
  await on.clock.advance(MINUTE);
  await assert.rejects(on.actors.getActorState("said", "a", as("ada")), { type: "actor_not_found" });
});

void test("an interval that no engine supports is refused at its definition", () => {
  for (const everyMs of [0, -1, 99, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(
      () =>
        actorCapability("a", {
          intent: "x",
          initialState: {},
          periodic: { tick: { everyMs, run: () => undefined } },
          messages: { x: { run: () => null } },
        }),
      { code: "BAD_DEFINITION", message: /periodic\.tick/ },
    );
});

/** Counts its ticks by name. */
const ticker = (every: Readonly<Record<string, number>>, { timeout = never, version = 1 }: { timeout?: Timeout; version?: number } = {}) =>
  actorCapability("ticker", {
    intent: "Ticks",
    initialState: { ticks: Array<string>() },
    persistence: "disk",
    timeout,
    version,
    migrate: () => ({ ticks: ["migrated"] }),
    periodic: Object.fromEntries(
      Object.entries(every).map(([name, everyMs]) => [name, { everyMs, run: ({ state }) => void state.ticks.push(name) }]),
    ),
    messages: { tell: { run: () => null } },
  });

const ticked = async (on: World): Promise<string> => {
  const { state } = await on.actors.getActorState("ticker", "a", as("ada"));
  return [Reflect.get(Object(state), "ticks")].flat().map(String).toSorted().join(" ");
};

const untilTicked = (on: World, ticks: string): Promise<void> => until(ticks, async () => (await ticked(on)) === ticks);

/** The actions of all its events. */
const acted = async (on: World): Promise<readonly string[]> => {
  const actions: string[] = [];
  for await (const { header } of on.engine.history("ticker/a")) actions.push(String(Reflect.get(Object(JSON.parse(header)), "type")));
  return actions;
};

const tell = async (on: World): Promise<void> => assert.equal(typeOf(await on.say("ticker", "a", {})), undefined);

void test("after a code change the next message sets added, removed and changed timers only", async () => {
  await using on = await world([ticker({ gone: MINUTE, faster: 10 * MINUTE, same: MINUTE })], { disk: true });
  await tell(on);
  await on.clock.advance(MINUTE / 2);
  await on.restart([ticker({ faster: MINUTE, same: MINUTE, added: MINUTE })]);
  await tell(on);
  await on.clock.advance(MINUTE / 2);
  await untilTicked(on, "same");
  await on.clock.advance(MINUTE / 2);
  await untilTicked(on, "added faster same");
  await on.clock.advance(MINUTE / 2);
  await untilTicked(on, "added faster same same");
  assert.equal((await acted(on)).includes("troupe_every_gone"), false);
});

void test("after a code change the next periodic message updates the timers of an idle actor", async () => {
  await using on = await world([ticker({ slower: MINUTE, gone: 2 * MINUTE })], { disk: true });
  await tell(on);
  await on.restart([ticker({ slower: 2 * MINUTE, added: MINUTE })]);
  await on.clock.advance(MINUTE);
  await untilTicked(on, "slower");
  await on.clock.advance(MINUTE);
  await untilTicked(on, "added slower");
  await on.clock.advance(MINUTE);
  await untilTicked(on, "added added slower slower");
  assert.equal((await acted(on)).includes("troupe_every_gone"), false);
});

void test("a periodic message without a handler cancels its timer, which returns with the handler", async () => {
  await using on = await world([ticker({ gone: MINUTE })], { disk: true });
  await tell(on);
  await on.restart([ticker({})]);
  const unknownWakes = async (): Promise<number> => (await acted(on)).filter((action) => action === "troupe_every_gone").length;
  await on.clock.advance(MINUTE);
  await until("the stray", async () => (await unknownWakes()) === 1);
  await on.clock.advance(10 * MINUTE);
  await tell(on);
  assert.equal(await unknownWakes(), 1);
  const outside = { to: "ticker/a", action: "troupe_every_gone", args: null, viewer: as("ada") } as const;
  assert.equal(Reflect.get(Object(Reflect.get(await on.engine.call(outside), "refused")), "code"), "UNKNOWN");
  await on.restart([ticker({ gone: MINUTE })]);
  await tell(on);
  await on.clock.advance(MINUTE);
  await untilTicked(on, "gone");
});

void test("a state without stored timers is updated once, and the author's own timers stay", async () => {
  const older = actorCapability("ticker", {
    intent: "Ticks",
    initialState: { ticks: Array<string>() },
    persistence: "disk",
    timeout: never,
    messages: {
      tell: {
        run({ wake, self }) {
          wake("timeout", { afterMs: 2 * MINUTE, message: { to: self, action: "tell", args: null } });
          return null;
        },
      },
    },
  });
  await using on = await world([older], { disk: true });
  await tell(on);
  await on.restart([ticker({ added: MINUTE })]);
  await tell(on);
  await on.clock.advance(MINUTE / 2);
  await tell(on);
  await on.clock.advance(MINUTE / 2);
  await untilTicked(on, "added");
  await on.clock.advance(2 * MINUTE);
  await untilTicked(on, "added added added");
  assert.deepEqual((await acted(on)).toSorted(), [
    ...Array<string>(4).fill("tell"),
    "troupe/begin",
    ...Array<string>(3).fill("troupe_every_added"),
  ]);
});

void test("after a code change a new lifetime counts from the actor's start", async () => {
  const of = (timeout: Timeout) => ticker({}, { timeout });
  for (const [before, after, endsAt] of [
    [lifetime(10), lifetime(3), 3],
    [lifetime(3), lifetime(10), 10],
    [never, lifetime(3), 3],
    [() => 9 * MINUTE, lifetime(3), 3],
    [lifetime(9), ({ message_count }: { message_count: number }) => (message_count === 2 ? 2 * MINUTE : undefined), 3],
  ] as const) {
    const inMinutes = (timeout: Timeout): Timeout =>
      typeof timeout === "object" && "ms" in timeout ? lifetime(timeout.ms * MINUTE) : timeout;
    await using on = await world([of(inMinutes(before))], { disk: true });
    await tell(on);
    await on.clock.advance(MINUTE);
    await on.restart([of(inMinutes(after))]);
    await tell(on);
    await on.clock.advance((endsAt - 1) * MINUTE - 1);
    assert.equal(await lives(on, "ticker"), true);
    await on.clock.advance(1);
    await until("its end", async () => !(await lives(on, "ticker")));
  }
});

void test("the timer of a removed lifetime ends no actor", async () => {
  for (const says of [true, false]) {
    await using on = await world([ticker({}, { timeout: lifetime(2 * MINUTE) })], { disk: true });
    await tell(on);
    await on.restart([ticker({})]);
    if (says) await tell(on);
    await on.clock.advance(2 * MINUTE);
    if (!says) await until("its wake", async () => (await acted(on)).includes("troupe_timeout"));
    await tell(on);
    assert.equal(await lives(on, "ticker"), true);
    assert.equal((await acted(on)).includes("troupe_timeout"), !says);
  }
});

void test("a second life counts its lifetime from its own start, also after a code change", async () => {
  await using on = await world([ticker({}, { timeout: lifetime(2 * MINUTE) })], { disk: true });
  await tell(on);
  await on.clock.advance(2 * MINUTE);
  await until("its end", async () => !(await lives(on, "ticker")));
  await on.clock.advance(MINUTE);
  await tell(on);
  await on.restart([ticker({}, { timeout: lifetime(3 * MINUTE) })]);
  await tell(on);
  await on.clock.advance(3 * MINUTE - 1);
  assert.equal(await lives(on, "ticker"), true);
  await on.clock.advance(1);
  await until("its end", async () => !(await lives(on, "ticker")));
});

void test("a migrated state still stores its timers, and does not expose them", async () => {
  await using on = await world([ticker({ gone: MINUTE, same: MINUTE })], { disk: true });
  await tell(on);
  await on.restart([ticker({ same: MINUTE }, { version: 2 })]);
  await tell(on);
  await on.clock.advance(MINUTE);
  await untilTicked(on, "migrated same");
  assert.equal((await acted(on)).includes("troupe_every_gone"), false);
  const { metadata, state } = await on.actors.getActorState("ticker", "a", as("ada"));
  assert.deepEqual(Object.keys(metadata).toSorted(), ["created_at", "last_message_at", "message_count", "persistence_strategy"]);
  assert.deepEqual(Object.keys(Object(state)), ["ticks"]);
});

void test("a timeout function that returns no number is an error, and its message changes nothing", async () => {
  await using on = await world([ticker({}, { timeout: ({ message_count }) => (message_count === 2 ? Number.NaN : undefined) })], {
    disk: true,
  });
  await tell(on);
  assert.equal(typeOf(await on.say("ticker", "a", {})), "actor_crash");
  assert.match(String(on.faults), /ticker: its `timeout` gave NaN: return milliseconds/);
  assert.equal((await on.actors.getActorState("ticker", "a", as("ada"))).metadata.message_count, 1);
});
