import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import { as, typeOf, world, type World } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import type { Persistence } from "./packet.ts";
import { idle, lifetime, never, type Timeout } from "./timeout.ts";

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

void test("idle: in memory an actor ends after so long without a message, and begins anew #packet.actor.timeout #packet.end.timeout #packet.config.cleanup #packet.implied.3-idle", async () => {
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

void test("idle: on disk an actor sleeps, and is what it was #packet.actor.timeout #packet.implied.3-idle #packet.implied.6-survives", async () => {
  await using on = await world([tally("tally", "disk", idle(MINUTE))], { disk: true });
  await nOf(on, "tally");
  await on.clock.advance(10 * MINUTE);
  assert.equal(await lives(on, "tally"), true);
  assert.equal(await nOf(on, "tally"), 2);
});

void test("what says nothing of when it ends goes by the configuration #packet.config.default-timeout", async () => {
  await using on = await world([tally("tally", "memory"), tally("never", "memory", never)], { actors: { defaultTimeoutMs: 2 * MINUTE } });
  await nOf(on, "tally");
  await nOf(on, "never");
  await on.clock.advance(2 * MINUTE);
  assert.deepEqual([await lives(on, "tally"), await lives(on, "never")], [false, true]);
});

void test("lifetime: so long after it began, whatever is said; never: not by itself #packet.forward.timeouts", async () => {
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

void test("a function is asked when it begins and after each message: later, not at all, at once #packet.forward.timeouts", async () => {
  const asked: number[] = [];
  const timeout: Timeout = ({ message_count }) => {
    asked.push(message_count);
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
  assert.deepEqual(asked, [0, 0, 1, 2, 3, 4]);
});

void test("state_timeout is of the actor that begins, and of no other #packet.message.state-timeout", async () => {
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

void test("persistence is chosen at creation, and takes the capability's own timeout with it #packet.message.persistence #packet.phase.3-persistence #packet.implied.6-override", async () => {
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

void test("where a persistence cannot be had, nothing begins #packet.actor.persistence #packet.implied.2-persistence", async () => {
  await using on = await world([tally("tally", "memory")]);
  for (const persistence of ["disk", "distributed"])
    assert.equal(typeOf(await on.say("tally", "a", {}, { actor_options: { persistence } })), "validation_failed");
  assert.deepEqual(on.faults, [], "it is no fault of the server's");
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
  assert.equal(await nOf(on, "tally"), 1);
});

void test("a time that is none is refused", () => {
  for (const ms of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
    for (const make of [idle, lifetime]) assert.throws(() => make(ms), { code: "BAD_DEFINITION" });
});
