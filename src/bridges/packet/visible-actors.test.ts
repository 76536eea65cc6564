import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller, JsonObject } from "../../core/contract/index.ts";
import { defaultActorId } from "./visible-actors.ts";
import { type World, as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { ACT_AS } from "./packet-session.ts";

test("no principal equals the default id of a principal with a long name", () => {
  const long = "x".repeat(300);
  const name = defaultActorId("notes", long);
  assert.match(name, /^notes:sha256\|[0-9a-f]{64}$/);
  assert.notEqual(defaultActorId("notes", name.slice("notes:".length)), name);
  assert.equal(defaultActorId("notes", "https://login.example|ada"), "notes:https://login.example|ada");
});

const box = (persistence: "memory" | "disk", shared = false) =>
  actorCapability(shared ? "everybodys" : "box", {
    intent: "Holds things",
    initialState: { things: Array<string>() },
    persistence,
    shared,
    messages: {
      look: { match: { do: "look" }, view: ({ state, context }) => ({ things: state.things, for: context.user_id ?? null }) },
      put: {
        run({ state, payload, viewer }) {
          state.things.push(typeof payload["thing"] === "string" ? payload["thing"] : "");
          return { by: viewer.principal ?? null };
        },
      },
    },
  });

const put = { thing: "gold" };

/** The errors that bob gets about ada's actor, for every operation. */
async function refusalsOf(on: World): Promise<unknown[]> {
  const viewer = as("bob");
  const typeOfError = (result: Promise<unknown>): Promise<unknown> =>
    result.then(
      () => "answered",
      (error: unknown) => Object(error).type,
    );
  return Promise.all([
    on.say("box", "a", put, {}, "bob").then(typeOf),
    on.say("box", "a", put, { actor_options: { create_if_missing: false } }, "bob").then(typeOf),
    on.say("box", "a", { do: "look" }, {}, "bob").then(typeOf),
    typeOfError(on.actors.getActorState("box", "a", viewer)),
    typeOfError(on.actors.terminateActor("box", "a", "mine now", viewer)),
    typeOfError(on.actors.sendToActor("box", "a", put, { viewer })),
    typeOfError(on.actors.getOrCreateActor("box", "a", { viewer })),
    on.actors.listActors(viewer).then((found) => (found.length === 0 ? "actor_not_found" : found)),
  ]);
}

void test("a refusal does not say whether another user has taken an id", async () => {
  await using on = await world([box("disk")], { disk: true, actors: { maxPerUser: 1 } });
  await on.say("box", "a", put);
  const refusal = async (id: string, payload: JsonObject, more: JsonObject = {}) => {
    const { type, message, details } = errorOf(await on.say("box", id, payload, more, "bob")) ?? {};
    return JSON.stringify([type, message, details]).replaceAll(`"${id}"`, '"?"').replaceAll(`\\"${id}\\"`, '\\"?\\"');
  };
  const only = { actor_options: { create_if_missing: false } };
  for (const payload of [put, { do: "look" }]) assert.equal(await refusal("a", payload, only), await refusal("b", payload, only));
  // Bob is at his quota: none of his messages starts another actor.
  await on.say("box", "mine", put, {}, "bob");
  for (const payload of [put, { do: "look" }])
    for (const more of [{}, only, { actor_options: { persistence: "distributed" } }])
      assert.equal(await refusal("a", payload, more), await refusal("b", payload, more));
});

void test("another user's actor cannot be messaged, read, ended, listed or restored #packet.registry.terminate #packet.phase.1-lifecycle #packet.isolation.registry", async () => {
  for (const persistence of ["memory", "disk"] as const) {
    await using on = await world([box(persistence)], { disk: true });
    await on.say("box", "a", put);
    const before = await on.engine.read("box/a");
    assert.deepEqual(new Set(await refusalsOf(on)), new Set(["actor_not_found"]));
    assert.equal((await on.engine.read("box/a"))?.head, before?.head, "nothing was written");
    if (persistence === "memory") continue;
    await on.actors.terminateActor("box", "a", "enough", as("ada"));
    assert.deepEqual(new Set(await refusalsOf(on)), new Set(["actor_not_found"]));
    assert.deepEqual((await on.say("box", "a", { do: "look" })).payload, { things: ["gold"], for: "ada" });
  }
});

void test("a missing and a foreign actor get the same error", async () => {
  await using on = await world([box("memory")]);
  const only = { actor_options: { create_if_missing: false } };
  for (const payload of [put, { do: "look" }]) {
    const errorText = async (key: string): Promise<string> =>
      JSON.stringify(errorOf(await on.say("box", key, payload, only, "bob"))).replaceAll(key, "");
    await on.say("box", "first", put);
    assert.equal(await errorText("first"), await errorText("second"));
  }
});

void test("a shared actor is visible to all users", async () => {
  await using on = await world([box("memory", true)]);
  await on.say("everybodys", "a", put);
  await on.say("everybodys", "a", put, {}, "bob");
  assert.deepEqual((await on.say("everybodys", "a", { do: "look" }, {}, "cy")).payload, { things: ["gold", "gold"], for: "cy" });
  assert.equal((await on.actors.listActors(as("dan"))).length, 1);
});

void test("a user_id other than the caller's own is unauthorized, and nothing is written #packet.message.context", async () => {
  await using on = await world([box("memory")]);
  const reply = await on.say("box", "a", put, { context: { user_id: "ada", trace_id: "t1" } }, "bob");
  assert.equal(typeOf(reply), "unauthorized");
  assert.deepEqual(reply.context, { user_id: "ada", trace_id: "t1" });
  assert.equal(await on.engine.read("box/a"), undefined);
  assert.deepEqual((await on.say("box", "a", put, { context: { user_id: "ada" } })).payload, { by: "ada" });
});

void test("packets:act-as lets a connection act for another user, and grants nothing else #packet.doors.act-as", async () => {
  await using on = await world([box("memory")]);
  const proxy: Caller = { principal: "proxy", scopes: [ACT_AS, "x"] };
  const packet = { type: "actor_message", capability_id: "box", actor_id: "a", payload: put };
  assert.deepEqual((await on.send({ ...packet, context: { user_id: "ada" } }, proxy)).payload, { by: "ada" });
  assert.equal(typeOf(await on.send(packet, proxy)), "actor_not_found", "for itself it is itself");
  assert.deepEqual((await on.say("box", "a", { do: "look" })).payload, { things: ["gold"], for: "ada" });
});

void test("guests reach only guests' actors, by the user or session they name #packet.doors.guests", async () => {
  await using on = await world([box("memory")]);
  const guest: Caller = { scopes: [] };
  const ask = (context: Readonly<Record<string, string>>, actor_id?: string) =>
    on.send({ type: "actor_message", capability_id: "box", payload: put, context, ...(actor_id !== undefined && { actor_id }) }, guest);
  await on.say("box", "a", put);
  assert.equal(typeOf(await ask({ user_id: "ada" }, "a")), "actor_not_found");
  assert.deepEqual((await ask({ user_id: "ada" }, "g")).payload, { by: "guest|ada" });
  assert.equal(typeOf(await ask({ user_id: "bob" }, "g")), "actor_not_found");
  assert.equal(typeOf(await ask({ session_id: "s1" }, "g")), "actor_not_found");
  assert.deepEqual((await ask({ user_id: "ada" })).actor_id, "box:guest|ada");
  assert.deepEqual((await ask({ session_id: "s1" })).payload, { by: "guest|session|s1" });
  assert.equal(typeOf(await on.say("box", "g", put)), "actor_not_found");
  assert.equal(typeOf(await ask({}, "nobody")), "unauthorized");
  assert.equal(typeOf(await ask({})), "validation_failed");
  assert.equal(await on.engine.read("box/nobody"), undefined);
});

void test("a request without actor_id uses the caller's default actor #packet.phase.1-routing #packet.implied.8-actor-id", async () => {
  await using on = await world([box("memory")]);
  const ask = (who: string) => on.send({ type: "capability_request", capability_id: "box", payload: put }, as(who));
  assert.deepEqual([(await ask("ada")).actor_id, (await ask("bob")).actor_id], ["box:ada", "box:bob"]);
});

void test("a user with a long name has a default actor too", async () => {
  await using on = await world([box("memory")]);
  const ask = (who: string) => on.send({ type: "capability_request", capability_id: "box", payload: put }, as(who));
  const names = await Promise.all(["a", "b"].map(async (letter) => (await ask(letter.repeat(256))).actor_id ?? ""));
  for (const name of names) assert.match(name, /^box:sha256\|[0-9a-f]{64}$/);
  assert.notEqual(names[0], names[1]);
  assert.equal((await ask("a".repeat(256))).metadata["message_count"], 2);
});

void test("no other user can take the default id of a user", async () => {
  await using on = await world([box("memory")]);
  assert.equal(typeOf(await on.say("box", "box:bob", put)), "actor_not_found");
  const own = await on.send({ type: "actor_message", capability_id: "box", payload: put }, as("bob"));
  assert.deepEqual([typeOf(own), own.actor_id], [undefined, "box:bob"]);
  assert.equal(typeOf(await on.say("box", "box:bob", put, {}, "bob")), undefined, "its owner may name it");
});

void test("a shared actor is stored as its definition says, regardless of who starts it", async () => {
  await using on = await world([box("disk", true)], { disk: true });
  for (const actor_options of [{ persistence: "memory" }, { state_timeout: 300 }])
    assert.equal(typeOf(await on.say("everybodys", "lobby", put, { actor_options })), "validation_failed");
  assert.equal(typeOf(await on.say("everybodys", "lobby", put)), undefined);
  assert.equal((await on.engine.read("everybodys/lobby"))?.persistence, "disk");
});
