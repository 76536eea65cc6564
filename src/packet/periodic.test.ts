import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import { as, world } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { idle, never } from "./timeout.ts";

const MINUTE = 60_000;

const clockwork = (id: string, persistence: "memory" | "disk", timeout = never) =>
  actorCapability(id, {
    intent: "Ticks",
    initialState: { ticks: 0, told: 0 },
    persistence,
    timeout,
    periodic: {
      tick: {
        everyMs: MINUTE,
        run({ state }) {
          state.ticks += 1;
          if (state.ticks === 2 && state.told === 13) throw new Error("It broke.");
        },
      },
    },
    messages: {
      tell: {
        run({ state, payload }) {
          state.told = Number(payload["n"] ?? 1);
          return { ...state };
        },
      },
    },
  });

const ticksOf = async (on: Awaited<ReturnType<typeof world>>, id: string): Promise<unknown> =>
  Reflect.get(Object((await on.actors.getActorState(id, "a", as("ada"))).state), "ticks");

void test("periodic handlers run by the clock, and are not counted as messages", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.say("clockwork", "a", {});
  const first = await on.actors.getActorState("clockwork", "a", as("ada"));
  await on.clock.advance(3 * MINUTE);
  const { state, metadata } = await on.actors.getActorState("clockwork", "a", as("ada"));
  assert.deepEqual(state, { ticks: 3, told: 1 });
  assert.deepEqual(metadata, first.metadata);
});

void test("they are set once, when an actor begins: no later message, and no second beginning, puts them off", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await Promise.all([on.say("clockwork", "a", {}), on.say("clockwork", "a", {})]);
  await on.clock.advance(MINUTE - 1_000);
  await on.say("clockwork", "a", {});
  await on.actors.getOrCreateActor("clockwork", "a", { viewer: as("ada") });
  await on.engine.call({ to: "clockwork/a", action: "begin", args: null, start: null, viewer: as("ada") });
  await on.clock.advance(1_000);
  assert.equal(await ticksOf(on, "clockwork"), 1);
});

void test("an actor that another way began has its timers too", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.engine.call({ to: "clockwork/a", action: "tell", args: { n: 5 }, start: null, viewer: as("ada") });
  await on.clock.advance(MINUTE);
  assert.deepEqual((await on.actors.getActorState("clockwork", "a", as("ada"))).state, { ticks: 1, told: 5 });
});

void test("on disk they survive a restart", async () => {
  await using on = await world([clockwork("clockwork", "disk")], { disk: true });
  await on.say("clockwork", "a", {});
  await on.clock.advance(MINUTE);
  await until("the first tick", async () => (await ticksOf(on, "clockwork")) === 1);
  await on.restart();
  await on.clock.advance(MINUTE);
  await until("the second tick", async () => (await ticksOf(on, "clockwork")) === 2);
});

void test("one that crashes changes nothing, and comes again", async () => {
  await using on = await world([clockwork("clockwork", "memory")]);
  await on.say("clockwork", "a", { n: 13 });
  await on.clock.advance(2 * MINUTE + 10_000);
  assert.equal(await ticksOf(on, "clockwork"), 1);
  await on.say("clockwork", "a", { n: 1 });
  await on.clock.advance(2 * MINUTE);
  assert.equal(Number(await ticksOf(on, "clockwork")) > 1, true);
});

void test("an actor nobody speaks to ends though it ticks", async () => {
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

void test("a period no engine would keep is refused where it is defined", () => {
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
