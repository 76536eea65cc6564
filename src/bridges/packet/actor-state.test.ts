import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "troupe/testing";
import * as z from "zod";
import { lifetime } from "./actor-timers.ts";
import { type World, as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";

const MINUTE = 60_000;
const VIEWER = { viewer: as("ada") };

const diary = actorCapability("diary", {
  intent: "Keeps pages",
  initialState: ({ actor_id, at }) => ({ of: actor_id, since: at, pages: Array<string>() }),
  persistence: "disk",
  timeout: lifetime(10 * MINUTE),
  messages: {
    end: {
      match: { do: "end" },
      run({ state, stop }) {
        stop("enough");
        return { pages: state.pages.length };
      },
    },
    write: {
      match: z.object({ text: z.string() }),
      run({ state, payload, metadata }) {
        state.pages.push(payload.text);
        return { pages: state.pages.length, before: metadata.message_count };
      },
    },
    crash: {
      match: { do: "crash" },
      run({ state }) {
        state.pages.push("lost");
        throw new Error("a secret");
      },
    },
  },
});

/** A later version of the same capability. */
const newer = actorCapability("diary", {
  intent: "Keeps pages, numbered",
  version: 2,
  initialState: { numbered: Array<readonly [number, string]>() },
  state: z.object({ numbered: z.array(z.tuple([z.number(), z.string()])) }),
  migrate: ({ state }) => ({ numbered: Object.values(Object(state).pages).map((page, n) => [n, String(page)] as const) }),
  persistence: "disk",
  messages: { read: { view: ({ state }) => state } },
});

const stateOf = (on: World) => on.actors.getActorState("diary", "a", as("ada"));
const isMissing = (on: World) => assert.rejects(stateOf(on), { type: "actor_not_found" });

async function written(): Promise<World> {
  const on = await world([diary], { disk: true });
  await on.say("diary", "a", { text: "one" });
  await on.say("diary", "a", { text: "two" });
  return on;
}

void test("an explicit stop replies, is recorded, and ends the actor #packet.end.stop #packet.supervisor.transient #packet.implied.5-returns", async () => {
  await using on = await written();
  const reply = await on.say("diary", "a", { do: "end" });
  assert.deepEqual([reply.payload, reply.metadata["message_count"]], [{ pages: 2 }, 3]);
  await isMissing(on);
  assert.deepEqual(await on.actors.listActors(as("ada")), []);
});

void test("the reply of a stopping actor in memory counts its last message #packet.end.stop", async () => {
  const brief = actorCapability("brief", { intent: "Ends", initialState: {}, messages: { end: { run: ({ stop }) => stop("done") } } });
  await using on = await world([brief]);
  assert.equal((await on.say("brief", "a", {})).metadata["message_count"], 1);
  assert.equal((await on.say("brief", "a", {})).metadata["message_count"], 1, "another life");
});

void test("a stopped actor on disk is restored before its next message: state, count and creation time #packet.life.initialize #packet.registry.terminate #packet.phase.1-lifecycle #packet.implied.6-survives", async () => {
  await using on = await written();
  const before = await stateOf(on);
  await on.actors.terminateActor("diary", "a", "enough", as("ada"));
  await isMissing(on);
  await on.restart();
  await on.clock.advance(MINUTE);
  const reply = await on.say("diary", "a", { text: "three" });
  assert.deepEqual([reply.payload, reply.metadata["message_count"]], [{ pages: 3, before: 2 }, 3]);
  const { state, metadata } = await stateOf(on);
  assert.deepEqual(Object(state).pages, ["one", "two", "three"]);
  assert.equal(metadata.created_at, before.metadata.created_at);
});

void test("an actor whose lifetime ended is restored for another lifetime #packet.life.initialize", async () => {
  await using on = await written();
  await on.clock.advance(10 * MINUTE);
  await until("its lifetime is over", async () =>
    on.actors.getActorState("diary", "a", as("ada")).then(
      () => false,
      () => true,
    ),
  );
  assert.deepEqual((await on.say("diary", "a", { text: "three" })).payload, { pages: 3, before: 2 });
  await on.clock.advance(9 * MINUTE);
  assert.equal((await stateOf(on)).metadata.message_count, 3);
  await on.clock.advance(MINUTE);
  await until("that too", async () =>
    on.actors.getActorState("diary", "a", as("ada")).then(
      () => false,
      () => true,
    ),
  );
});

void test("a newer version migrates sleeping and stopped actors; an older one refuses them unchanged #packet.forward.state #packet.implied.2-persistence #packet.implied.6-versioned", async () => {
  for (const ended of [false, true]) {
    await using on = await written();
    if (ended) await on.actors.terminateActor("diary", "a", "enough", as("ada"));
    await on.restart([newer]);
    const reply = await on.say("diary", "a", {});
    assert.deepEqual(
      reply.payload,
      {
        numbered: [
          [0, "one"],
          [1, "two"],
        ],
      },
      JSON.stringify(reply),
    );
    assert.equal(reply.metadata["message_count"], 2);
    if (!ended) continue;
    await on.actors.terminateActor("diary", "a", "enough", as("ada"));
    await on.restart([diary]);
    const refused = errorOf(await on.say("diary", "a", { text: "three" }));
    assert.deepEqual([refused?.type, Object(refused?.details).code], ["persistence_failed", "STATE_NEWER"]);
    await on.restart([newer]);
    assert.equal(typeOf(await on.say("diary", "a", {})), undefined);
  }
});

void test("a first state that does not match its schema starts no actor #packet.actor.initial-state", async () => {
  const strict = actorCapability("strict", {
    intent: "Is strict",
    initialState: () => JSON.parse(`{"n":"one"}`),
    state: z.object({ n: z.number() }),
    messages: { any: { run: () => null } },
  });
  await using on = await world([strict]);
  assert.equal(typeOf(await on.say("strict", "a", {})), "actor_crash");
  await assert.rejects(on.actors.getActorState("strict", "a", as("ada")), { type: "actor_not_found" });
});

void test("create_if_missing: false finds existing actors, and starts none #packet.message.create-if-missing #packet.life.lookup #packet.registry.get-or-create", async () => {
  await using on = await written();
  const only = { actor_options: { create_if_missing: false } };
  const absent = await on.say("diary", "b", { text: "x" }, only);
  assert.equal(absent.metadata["error_code"], "ACTOR_NOT_FOUND");
  assert.match(JSON.stringify(errorOf(absent)?.message), /There is no actor .* of yours: name another\./);
  assert.equal(typeOf(absent), "actor_not_found");
  const sending = { ...VIEWER, options: { create_if_missing: false } };
  await assert.rejects(on.actors.sendToActor("diary", "b", { text: "x" }, sending), { type: "actor_not_found" });
  await assert.rejects(on.actors.getOrCreateActor("diary", "b", sending), { type: "actor_not_found" });
  assert.equal(await on.engine.read("diary/b"), undefined);
  assert.equal(typeOf(await on.say("diary", "a", { text: "x" }, only)), undefined);
  await on.say("diary", "a", { do: "end" });
  assert.equal(typeOf(await on.say("diary", "a", { text: "x" }, only)), "actor_not_found");
});

void test("a crash fails the message, not the actor; failed messages are not counted #packet.end.error #packet.supervisor.one-for-one #packet.supervisor.transient #packet.phase.1-supervision #packet.implied.5-crash", async () => {
  await using on = await written();
  const before = await stateOf(on);
  const reply = await on.say("diary", "a", { do: "crash" });
  assert.equal(typeOf(reply), "actor_crash");
  assert.ok(!JSON.stringify(reply).includes("a secret"));
  assert.deepEqual(await stateOf(on), before);
  assert.equal(on.faults.length, 1, "our log says why");
  assert.deepEqual((await on.say("diary", "a", { text: "three" })).payload, { pages: 3, before: 2 });
});

void test("a durably accepted message is applied at any later time #packet.registry.send", async () => {
  await using on = await written();
  await on.actors.sendToActor("diary", "a", { text: "sent" }, VIEWER);
  await until("it is applied", async () => (await stateOf(on)).metadata.message_count === 3);
});

void test("an actor_id is any text of 1 to 256 bytes #packet.life.lookup", async () => {
  await using on = await world([diary], { disk: true });
  for (const actor_id of ["__proto__", "../..", "a/b c%", "語", "x".repeat(256)]) {
    assert.deepEqual((await on.say("diary", actor_id, { text: "x" })).payload, { pages: 1, before: 0 }, actor_id);
    assert.equal(Object((await on.actors.getActorState("diary", actor_id, as("ada"))).state).of, actor_id);
  }
  assert.equal((await on.actors.listActors(as("ada"))).length, 5);
  await assert.rejects(on.actors.getOrCreateActor("diary", "x".repeat(257), VIEWER), { type: "validation_failed" });
});

void test("messages around a stop restart the actor and are applied in order", async () => {
  await using on = await world([diary], { disk: true });
  const sent = Array.from({ length: 10 }, () => [{ text: "one" }, { text: "two" }, { do: "end" }]).flat();
  const replies = await Promise.all(sent.map((payload) => on.say("diary", "a", payload)));
  assert.deepEqual(
    replies.map(typeOf).filter((type) => type !== undefined),
    [],
  );
});

void test("a read around a stop restarts the actor too", async () => {
  await using on = await world([newer], { disk: true });
  const { engine } = on;
  const read = engine.read.bind(engine);
  let ends = 3;
  engine.read = async (id) => {
    if (ends > 0 && (await read(id))?.status === "live") {
      ends -= 1;
      await engine.stop(id, "enough");
    }
    return read(id);
  };
  assert.deepEqual((await on.say("diary", "a", {})).payload, { numbered: [] });
  assert.equal(ends, 0);
});

void test("C4 a packet repeated under its key gets the first reply, and is applied once", async () => {
  await using on = await world([diary], { disk: true });
  const keyed = { metadata: { "troupe/callId": "k1" } };
  const first = await on.say("diary", "a", { text: "once" }, keyed);
  const again = await on.say("diary", "a", { text: "once" }, keyed);
  assert.deepEqual(again.payload, first.payload);
  assert.equal((await stateOf(on)).metadata.message_count, 1);
  assert.equal(typeOf(await on.say("diary", "a", { text: "x" }, { metadata: { "troupe/callId": "" } })), "validation_failed");
});

void test("C4 a packet sent again under its key is the same call, though its context has another time and trace", async () => {
  const clerk = actorCapability("clerk", {
    intent: "Notes when",
    initialState: { notes: 0 },
    persistence: "disk",
    messages: {
      note: {
        match: { do: "note" },
        run({ state, context: { timestamp = null, trace_id = null } }) {
          state.notes += 1;
          return { notes: state.notes, timestamp, trace_id };
        },
      },
      ask: { work: ({ request }) => request("clerk", { do: "note" }, { actor_id: "b" }) },
    },
  });
  await using on = await world([clerk], { disk: true });
  const keyed = { metadata: { "troupe/callId": "k1" } };
  const first = { timestamp: "2026-01-01T00:00:00Z", trace_id: "t1" };
  for (const context of [first, { timestamp: "2026-01-01T00:00:05Z", trace_id: "t2" }])
    assert.deepEqual((await on.say("clerk", "a", { do: "note" }, { ...keyed, context })).payload, { notes: 1, ...first });
  const { type, details } = errorOf(await on.say("clerk", "a", { do: "note", more: 1 }, keyed)) ?? {};
  assert.deepEqual([type, details], ["execution_failed", { actor_id: "a", code: "KEY_REUSED", applied: false }]);
  assert.deepEqual((await on.say("clerk", "a", {}, { context: first })).payload, { notes: 1, ...first }, "what its work asks has them");
});
