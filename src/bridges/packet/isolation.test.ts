import assert from "node:assert/strict";
import { test } from "node:test";
import { as, errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { capability } from "./define-capability.ts";

const leaked: { state?: unknown; payload?: unknown; view?: unknown; list?: unknown } = {};

const vault = actorCapability("vault", {
  intent: "Keeps secrets",
  initialState: { list: Array<unknown>(), last: { by: "nobody" } },
  persistence: "disk",
  messages: {
    look: {
      match: { do: "look" },
      view({ state }) {
        leaked.view = state;
        return { list: state.list, last: state.last };
      },
    },
    late: {
      match: { do: "late" },
      async work({ state }) {
        leaked.state = state;
        await Promise.resolve();
        state.last.by = "work";
        return { last: state.last };
      },
    },
    keep: {
      run({ state, payload }) {
        leaked.state = state;
        leaked.list = state.list;
        leaked.payload = payload;
        state.list.push(payload["what"]);
        return { list: state.list, last: state.last };
      },
    },
  },
});

/** Overwrites a value and everything in it. */
function deface(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  try {
    for (const key of Object.keys(value)) {
      deface(Reflect.get(value, key));
      Reflect.set(value, key, "defaced");
    }
    if (Array.isArray(value)) value.push("defaced");
    else Reflect.set(value, "defaced", true);
  } catch {
    // The draft of a finished turn cannot be read.
  }
}

const STORED = { list: [{ deep: ["x"] }], last: { by: "nobody" } };

void test("values passed to or returned by an actor cannot change it from outside #packet.registry.state #packet.isolation.state #packet.implied.4-private", async () => {
  await using on = await world([vault], { disk: true });
  const viewer = as("ada");
  const state = async (): Promise<unknown> => (await on.actors.getActorState("vault", "a", viewer)).state;
  const payload = { what: { deep: ["x"] } };
  const { result } = await on.actors.requestFromActor("vault", "a", payload, { viewer });
  assert.deepEqual(result, STORED);
  for (const value of [payload, result, leaked.state, leaked.list, leaked.payload]) deface(value);
  assert.deepEqual(await state(), STORED);

  const read = await on.actors.requestFromActor("vault", "a", { do: "look" }, { viewer });
  for (const value of [read.result, leaked.view, await state(), (await on.engine.read("vault/a"))?.state]) deface(value);
  assert.deepEqual(await state(), STORED);

  // A state from the store is a new object that no turn has seen.
  await on.restart();
  deface(await state());
  assert.deepEqual(await state(), STORED);
  await on.restart();
  await on.actors.requestFromActor("vault", "a", { do: "look" }, { viewer });
  deface(leaked.view);
  assert.deepEqual(await state(), STORED);

  const worked = await on.actors.requestFromActor("vault", "a", { do: "late" }, { viewer });
  for (const value of [worked.result, leaked.state]) deface(value);
  assert.deepEqual(await state(), { ...STORED, last: { by: "work" } });
});

void test("a message holds the payload as it was when it was sent #packet.registry.send", async () => {
  await using on = await world([vault], { disk: true });
  const viewer = as("ada");
  const payload = { what: "sent" };
  const replied = on.actors.requestFromActor("vault", "a", payload, { viewer });
  payload.what = "changed";
  assert.deepEqual(Object((await replied).result).list, ["sent"]);
});

void test("two actors of a capability share nothing, not even their initial state #packet.actor.initial-state #packet.isolation.state", async () => {
  await using on = await world([vault], { disk: true });
  await on.say("vault", "a", { what: 1 });
  assert.deepEqual((await on.say("vault", "b", { do: "look" })).payload, { list: [], last: { by: "nobody" } });
});

void test("nested calls pass copies of payloads and results #packet.isolation.registry", async () => {
  const results: Record<string, unknown>[] = [];
  const inner = capability("inner", {
    intent: "Defaces",
    execute(payload) {
      deface(payload);
      const result = { list: [1] };
      results.push(result);
      return result;
    },
  });
  const outer = capability("outer", {
    intent: "Calls",
    async execute(_, { call }) {
      const mine = { list: [1] };
      const first = await call("inner", mine);
      for (const result of results) deface(result);
      return { mine, first };
    },
  });
  await using on = await world([inner, outer]);
  const reply = await on.send({ type: "capability_request", capability_id: "outer", payload: {} });
  assert.deepEqual(reply.payload, { mine: { list: [1] }, first: { list: [1] } });
});

void test("an async turn or periodic handler is refused, and its rejection is handled", async () => {
  const rejecting = async (): Promise<never> => {
    await Promise.resolve();
    throw new Error("late");
  };
  const run: () => null = Object(rejecting);
  const sly = actorCapability("sly", {
    intent: "Pretends",
    provides: ["x"],
    initialState: { n: 0 },
    periodic: { tick: { everyMs: 1_000, run } },
    messages: { any: { run } },
  });
  await using on = await world([sly]);
  assert.equal(typeOf(await on.say("sly", "a", {})), "actor_crash");
  await on.clock.advance(1_000);
  assert.equal((await on.actors.getActorState("sly", "a", as("ada"))).metadata.message_count, 0);
});

void test("a capability that an actor's work calls gets a copy, and cannot change the actor's state", async () => {
  const inner = capability("inner", {
    intent: "Defaces",
    execute(payload) {
      deface(payload);
      return { done: true };
    },
  });
  const reader = actorCapability("reader", {
    intent: "Defaces",
    shared: true,
    initialState: {},
    messages: {
      look: {
        view({ payload }) {
          deface(payload);
          return { done: true };
        },
      },
    },
  });
  const asking = actorCapability("asking", {
    intent: "Calls",
    initialState: { box: { list: [1] } },
    messages: {
      ask: {
        match: { do: "ask" },
        async work({ state, payload, request }) {
          const to = typeof payload["to"] === "string" ? payload["to"] : "";
          await request(to, state.box);
          return state.box;
        },
      },
      wrong: { work: ({ request }) => request("inner", JSON.parse("[1]")) },
    },
  });
  await using on = await world([inner, reader, asking]);
  for (const to of ["inner", "reader"]) assert.deepEqual((await on.say("asking", "a", { do: "ask", to })).payload, { list: [1] }, to);
  const { type, details } = errorOf(await on.say("asking", "a", { do: "wrong" })) ?? {};
  assert.deepEqual([type, details], ["execution_failed", { capability_id: "inner", type: "validation_failed", details: {} }]);
});
