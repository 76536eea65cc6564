import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { EngineError } from "../../core/contract/index.ts";
import { as, errorOf, typeOf, world, type World } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";

const DAY = 86_400_000;

const kid = actorCapability("kid", {
  intent: "Begun by others",
  initialState: { secret: "" },
  messages: {
    tell: {
      match: z.object({ tell: z.literal(true), secret: z.string() }),
      run({ state, payload }) {
        state.secret = payload.secret;
      },
    },
    read: { match: { read: true }, view: ({ state }) => ({ secret: state.secret }) },
    write: {
      run({ state }) {
        state.secret += "!";
        return { secret: state.secret };
      },
    },
  },
});
const told = { tell: true, secret: "gold" };

const by = <const B extends string>(how: B) => z.object({ by: z.literal(how), key: z.string() });

const parent = (shared: boolean) =>
  actorCapability(shared ? "hall" : "parent", {
    intent: "Begins others",
    shared,
    initialState: {},
    timeout: { ends: "never" },
    messages: {
      call: {
        match: by("call"),
        work: async ({ create, send, payload }) => void send(create(kid.kind.id(payload.key)), "tell", told),
      },
      send: {
        match: by("send"),
        run: ({ create, send, payload }) => void send(create(kid.kind.at(payload.key)), "tell", told),
      },
      wake: {
        match: by("wake"),
        run: ({ wake, self, payload }) =>
          wake("later", { afterMs: 10, message: { to: self, action: "send", args: { by: "send", key: payload.key } } }),
      },
    },
  });

const strangers = async (on: World, key: string): Promise<void> => {
  assert.deepEqual((await on.say("kid", key, { read: true }, {}, "ada")).payload, { secret: "gold" });
  for (const payload of [{ read: true }, { write: true }])
    assert.equal(typeOf(await on.say("kid", key, payload, {}, "bob")), "actor_not_found");
  await assert.rejects(on.actors.getActorState("kid", key, as("bob")), { type: "actor_not_found" });
};

void test("what an actor begins belongs to whom that actor belongs to, whichever way it was begun", async () => {
  await using on = await world([parent(false), kid]);
  for (const how of ["call", "send", "wake"]) {
    await on.say("parent", "p", { by: how, key: how });
    await on.clock.advance(20);
    await strangers(on, how);
  }
  assert.equal((await on.actors.listActors(as("ada"))).length, 4);
});

void test("what everybody's actor begins belongs to whom it was asked by", async () => {
  await using on = await world([parent(true), kid]);
  await on.say("hall", "h", { by: "call", key: "a" });
  await strangers(on, "a");
});

void test("an actor begins as somebody's, or not at all", async () => {
  await using on = await world([kid]);
  const begin = (key: string, viewer?: ReturnType<typeof as>) =>
    on.engine.call({ to: kid.kind.id(key), action: "tell", args: told, start: null, ...(viewer && { viewer }) });
  const refused = (error: unknown): boolean => error instanceof EngineError && error.code === "NO_ACTOR";
  await assert.rejects(begin("a"), refused);
  assert.equal(await on.engine.read("kid/a"), undefined);
  await assert.rejects(begin("kid:bob", as("ada")), refused, "not under the name of another's own");
  await begin("kid:ada", as("ada"));
});

void test("it counts as one of its user's, and ends when it was idle as others do", async () => {
  await using on = await world([parent(false), kid], { actors: { maxPerUser: 2 } });
  await on.say("parent", "p", { by: "call", key: "a" });
  assert.equal(errorOf(await on.say("kid", "b", {}))?.type, "actor_limit_exceeded");
  await on.clock.advance(DAY);
  assert.deepEqual(
    (await on.actors.listActors(as("ada"))).map(({ id }) => id),
    ["parent/p"],
  );
});
