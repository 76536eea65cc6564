import assert from "node:assert/strict";
import { test } from "node:test";
import { refuse } from "troupe";
import { settle, until } from "troupe/testing";
import type { JsonObject } from "../../core/contract/index.ts";
import { as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";

const nameIn = ({ name }: JsonObject): string => (typeof name === "string" ? name : "");

/** Waits until it is released, and stores what it saw. */
function gated() {
  const gates = new Map<string, () => void>();
  const seen: string[] = [];
  const capability = actorCapability("gate", {
    intent: "Waits",
    initialState: { passed: Array<string>() },
    messages: {
      pass: {
        match: { do: "pass" },
        async work({ state, payload, signal, progress }) {
          const name = nameIn(payload);
          seen.push(name);
          progress(1, 2, name);
          const { promise, resolve, reject } = Promise.withResolvers<void>();
          gates.set(name, resolve);
          signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
          await promise;
          state.passed.push(name);
          return { passed: [...state.passed] };
        },
      },
      peek: { match: { do: "peek" }, view: ({ state }) => ({ passed: state.passed }) },
      add: {
        run({ state }) {
          state.passed.push("added");
          return { passed: state.passed.length };
        },
      },
    },
  });
  return { capability, seen, open: (name: string) => gates.get(name)?.() };
}

void test("C1 one message at a time, work included; actors run concurrently, and reads never queue #packet.life.route #packet.phase.1-supervision #packet.isolation.process #packet.implied.4-serial", async () => {
  const { capability, seen, open } = gated();
  await using on = await world([capability]);
  const first = on.say("gate", "a", { do: "pass", name: "one" });
  const second = on.say("gate", "a", { do: "pass", name: "two" });
  const other = on.say("gate", "b", { do: "pass", name: "three" });
  await until("both actors work", () => seen.length === 2);
  assert.deepEqual(seen.toSorted(), ["one", "three"]);
  assert.deepEqual((await on.say("gate", "a", { do: "peek" })).payload, { passed: [] });
  open("one");
  assert.deepEqual((await first).payload, { passed: ["one"] });
  await until("the second works", () => seen.includes("two"));
  open("two");
  open("three");
  assert.deepEqual((await second).payload, { passed: ["one", "two"] });
  assert.deepEqual((await other).payload, { passed: ["three"] });
});

void test("each reply counts its own message, however many run #packet.implied.1-actor-reply #packet.implied.4-serial", async () => {
  for (const disk of [false, true]) {
    const { capability } = gated();
    await using on = await world([capability], { disk });
    const actor_options = disk ? { persistence: "disk" } : {};
    const replies = await Promise.all(Array.from({ length: 20 }, () => on.say("gate", "a", { do: "add" }, { actor_options })));
    assert.deepEqual(
      replies.map(({ metadata }) => Number(metadata["message_count"])).toSorted((x, y) => x - y),
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
    for (const { payload, metadata } of replies) assert.equal(payload["passed"], metadata["message_count"]);
  }
});

void test("a reply after the deadline is actor_timeout with the actor and the time, and changes nothing #packet.errors.actor #packet.implied.2-timeout #packet.implied.3-reply", async () => {
  const { capability, seen } = gated();
  await using on = await world([capability], { actors: { replyMs: 30_000 } });
  const waiting = on.say("gate", "a", { do: "pass", name: "one" });
  const queued = on.say("gate", "a", { do: "add" });
  await until("it works", () => seen.length === 1);
  await on.clock.advance(30_000);
  const [begun, behind] = [errorOf(await waiting), errorOf(await queued)];
  for (const { message } of [Object(begun), Object(behind)])
    assert.match(message, /^Actor did not respond within timeout period\. The actor "a" /);
  assert.match(JSON.stringify(begun), /had begun, and was stopped after 30000 ms/);
  assert.match(JSON.stringify(behind), /did not get to the message within 30000 ms, and nothing of it was done/);
  for (const reply of [await waiting, await queued]) {
    assert.equal(reply.metadata["error_code"], "ACTOR_TIMEOUT");
    const error = errorOf(reply);
    assert.equal(error?.type, "actor_timeout");
    const { actor_id, timeout_ms } = Object(error?.details);
    assert.deepEqual([actor_id, timeout_ms], ["a", 30_000]);
  }
  assert.deepEqual((await on.say("gate", "a", { do: "peek" })).payload, { passed: [] });
  assert.deepEqual((await on.say("gate", "a", { do: "add" })).payload, { passed: 1 });
});

void test("actor_timeout of work that took too long has the work's own limit", async () => {
  const slow = actorCapability("slow", {
    intent: "Waits",
    initialState: {},
    policy: { workMs: 200 },
    messages: { wait: { work: () => new Promise<string>(() => undefined) } },
  });
  await using on = await world([slow]);
  const reply = on.say("slow", "a", {});
  await until("it works", async () => (await on.engine.read("slow/a")) !== undefined);
  await settle();
  await on.clock.advance(200);
  const { type, message, details } = Object(errorOf(await reply));
  assert.match(message, /^Actor did not respond within timeout period\. /);
  assert.deepEqual([type, details], ["actor_timeout", { actor_id: "a", timeout_ms: 200, code: "WORK_TIMEOUT", applied: false }]);
});

void test("a request's own timeout can shorten the limit, but not extend it #packet.implied.3-reply", async () => {
  const { capability, seen } = gated();
  await using on = await world([capability], { actors: { replyMs: 30_000 } });
  const request = on.packets.running.run(
    "gate",
    { do: "pass", name: "one" },
    { viewer: as("ada"), context: {}, actor_id: "a", timeoutMs: 1_000 },
  );
  const refused = assert.rejects(request, {
    type: "actor_timeout",
    details: { actor_id: "a", timeout_ms: 1_000, code: "ACTOR_TIMEOUT", applied: false },
  });
  await until("it works", () => seen.length === 1);
  await on.clock.advance(1_000);
  await refused;
});

void test("progress precedes its reply, and echoes its request", async () => {
  const { capability, seen, open } = gated();
  await using on = await world([capability]);
  const reply = on.say("gate", "a", { do: "pass", name: "one" }, { id: "r1", context: { trace_id: "t1" } });
  await until("it works", () => seen.length === 1);
  assert.equal(on.progress.length, 1);
  const [{ type, id, payload, context, capability_id } = await reply] = on.progress;
  assert.deepEqual(
    { type, id, payload, context, capability_id },
    {
      type: "capability_progress",
      id: "r1",
      payload: { progress: 1, total: 2, message: "one" },
      context: { trace_id: "t1" },
      capability_id: "gate",
    },
  );
  open("one");
  await reply;
});

void test("each reply names the default actor, whether it is a result, progress or an error", async () => {
  const speaker = actorCapability("speaker", {
    intent: "Says",
    provides: ["word"],
    initialState: { words: 0 },
    messages: {
      refuse: { match: { do: "refuse" }, run: () => refuse("No.", { code: "NO" }) },
      nothing: { match: { do: "nothing" }, run: () => ({}) },
      work: {
        match: { do: "work" },
        async work({ progress }) {
          progress(1);
          return { word: "done" };
        },
      },
      read: { match: { do: "read" }, view: () => refuse("No.", { code: "NO" }) },
    },
  });
  await using on = await world([speaker]);
  const send = (does: string) => on.send({ type: "actor_message", capability_id: "speaker", payload: { do: does } });
  const replies = [];
  for (const does of ["work", "refuse", "nothing", "read", "unknown"]) replies.push(await send(does));
  assert.deepEqual(
    [...replies, ...on.progress].map(({ type, actor_id }) => [type, actor_id]),
    [
      ["capability_response", "speaker:ada"],
      ...Array.from({ length: 4 }, () => ["capability_error", "speaker:ada"]),
      ["capability_progress", "speaker:ada"],
    ],
  );
});

void test("a cancel packet ends the request with its id, and no other #packet.doors.cancel", async () => {
  const { capability, seen, open } = gated();
  await using on = await world([capability]);
  const one = on.say("gate", "a", { do: "pass", name: "one" }, { id: "1" });
  const queued = on.say("gate", "a", { do: "add" }, { id: "2" });
  const other = on.say("gate", "b", { do: "pass", name: "other" }, { id: "3" });
  const nameless = on.say("gate", "c", { do: "pass", name: "nameless" });
  await until("they work", () => seen.length === 3);
  const cancel = (id: string) => on.send({ type: "cancel", payload: { id } });
  assert.deepEqual((await cancel("2")).payload, { cancelled: 1 });
  assert.deepEqual((await cancel("1")).payload, { cancelled: 1 });
  assert.deepEqual((await cancel("1")).payload, { cancelled: 0 });
  assert.deepEqual([typeOf(await one), typeOf(await queued)], ["cancelled", "cancelled"]);
  assert.equal(typeOf(await on.send({ type: "cancel", payload: {} })), "protocol_error");
  open("other");
  open("nameless");
  assert.deepEqual([typeOf(await other), typeOf(await nameless)], [undefined, undefined]);
  assert.deepEqual((await on.say("gate", "a", { do: "peek" })).payload, { passed: [] });
});

void test("a client that disconnects ends its own work, and no one else's #packet.doors.cancel", async () => {
  const { capability, seen, open } = gated();
  await using on = await world([capability]);
  const mine = on.session(as("ada"));
  const waiting = on.say("gate", "a", { do: "pass", name: "one" });
  const others = on.say("gate", "b", { do: "pass", name: "two" }, {}, "bob");
  await until("they work", () => seen.length === 2);
  await mine.close();
  assert.equal(typeOf(await waiting), "cancelled");
  assert.equal(typeOf(await on.say("gate", "a", { do: "add" })), "cancelled", "it has gone");
  open("two");
  assert.deepEqual((await others).payload, { passed: ["two"] });
  await settle();
});

void test("a heartbeat is answered with a heartbeat at once #packet.implied.1-heartbeat", async () => {
  const { capability, seen } = gated();
  await using on = await world([capability]);
  const waiting = on.say("gate", "a", { do: "pass", name: "one" });
  await until("it works", () => seen.length === 1);
  const beat = await on.send({ type: "heartbeat", id: "h", context: { session_id: "s" } });
  assert.deepEqual([beat.type, beat.id, beat.payload, beat.context["session_id"]], ["heartbeat", "h", {}, "s"]);
  await on.session(as("ada")).close();
  await waiting;
});

void test("messages are applied in order of arrival, also while their actor starts", async () => {
  const { capability } = gated();
  await using on = await world([capability], { disk: true });
  const { actors } = on;
  const sending = { viewer: as("ada"), options: { persistence: "disk" } as const };
  const first = actors.requestFromActor("gate", "a", { n: 0 }, sending);
  const begun = first.then(() => true);
  const replies = [first];
  do replies.push(actors.requestFromActor("gate", "a", { n: replies.length }, sending));
  while (!(await Promise.race([begun, settle(1).then(() => false)])) && replies.length < 10_000);
  const counts = (await Promise.all(replies)).map(({ message_count }) => message_count);
  assert.deepEqual(
    counts,
    Array.from(replies, (_, n) => n + 1),
  );
});

void test("messages with and without a call id are applied in order of arrival, also while their actor starts", async () => {
  const { capability } = gated();
  await using on = await world([capability], { disk: true });
  for (const persistence of ["memory", "disk"] as const) {
    const replies = Array.from({ length: 30 }, (_, n) =>
      on.say(
        "gate",
        persistence,
        { n },
        { actor_options: { persistence }, ...(n % 3 === 0 && { metadata: { "troupe/callId": `${persistence} ${n}` } }) },
      ),
    );
    const passed = (await Promise.all(replies)).map(({ payload }) => payload["passed"]);
    assert.deepEqual(
      passed,
      passed.map((_, n) => n + 1),
      persistence,
    );
  }
});

void test("work whose actor is stopped fails, and is not run again; messages that waited for it begin another life", async () => {
  const { capability, seen, open } = gated();
  await using on = await world([capability]);
  for (const more of [{}, { metadata: { "troupe/callId": "once" } }]) {
    const working = on.say("gate", "a", { do: "pass", name: "one" }, more);
    await until("it works", () => seen.length === 1);
    const waiting = on.say("gate", "a", {});
    await on.engine.stop("gate/a", "enough");
    const { type, message, details } = errorOf(await working) ?? {};
    assert.deepEqual([type, details], ["actor_crash", { actor_id: "a", code: "ACTOR_STOPPED", applied: false }]);
    assert.match(JSON.stringify(message), /was stopped while it worked on the message/);
    assert.deepEqual((await waiting).payload, { passed: 1 });
    assert.deepEqual(seen.splice(0), ["one"]);
    open("one");
    await on.engine.stop("gate/a", "enough");
  }
});

void test("a full mailbox is rate_limited, with the seconds to wait", async () => {
  const { capability, seen, open } = gated();
  const narrow = actorCapability("narrow", {
    intent: "Takes one",
    initialState: {},
    policy: { mailbox: 1 },
    messages: {
      wait: {
        async work({ request }) {
          await request("gate", { do: "pass", name: "one" }, { actor_id: "a" });
          return {};
        },
      },
    },
  });
  await using on = await world([capability, narrow]);
  const replies = [on.say("narrow", "a", {})];
  await until("it works", () => seen.length === 1);
  replies.push(on.say("narrow", "a", {}), on.say("narrow", "a", {}));
  const refused = await Promise.race(replies);
  assert.equal(typeOf(refused), "rate_limited");
  assert.deepEqual([refused.metadata["error_code"], refused.metadata["retry_after"]], ["MAILBOX_FULL", 1]);
  open("one");
  await until("the second works", () => seen.length === 2);
  open("one");
  await Promise.all(replies);
});
