import type { StandardSchemaV1 } from "@standard-schema/spec";
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { matcher } from "./actor-handlers.ts";
import { errorOf, typeOf, world } from "./world.fixture.ts";
import { actorCapability } from "./define-actor.ts";

const bot = actorCapability("bot", {
  intent: "Answers by what it is told",
  initialState: { heard: 0 },
  messages: {
    exact: { match: { kind: "a", deep: { x: 1 } }, run: () => "exact" },
    wide: { match: { kind: "a" }, run: () => "wide" },
    counted: {
      match: z.object({ kind: z.literal("n"), by: z.coerce.number().default(2) }),
      run({ state, payload }) {
        state.heard += payload.by;
        return state.heard;
      },
    },
    never: { match: { kind: "n" }, run: () => "not numbers" },
    read: { match: { kind: "read" }, view: ({ state: { heard } }) => heard },
  },
});

const resultOf = async (payload: Readonly<Record<string, unknown>>): Promise<unknown> => {
  await using on = await world([bot]);
  const reply = await on.say("bot", "a", JSON.parse(JSON.stringify(payload)));
  return typeOf(reply) ?? reply.payload["result"];
};

void test("the first pattern in source order that the payload contains selects the handler #packet.actor.messages #packet.phase.1-routing", async () => {
  assert.equal(await resultOf({ kind: "a", deep: { x: 1, y: 2 }, more: true }), "exact");
  assert.equal(await resultOf({ kind: "a", deep: { x: 2 } }), "wide");
  assert.equal(await resultOf({ kind: "a", deep: [1] }), "wide");
});

void test("a schema passes its output to the handler; a payload it refuses goes to the next pattern #packet.actor.messages", async () => {
  assert.equal(await resultOf({ kind: "n", by: "40" }), 40);
  assert.equal(await resultOf({ kind: "n" }), 2);
  assert.equal(await resultOf({ kind: "n", by: "many" }), "not numbers");
});

void test("a schema within a part of the payload is refused by its path, with where to put it", () => {
  for (const [pattern, path] of [
    [{ ask: z.any() }, "ask"],
    [{ ask: z.string(), kind: "a" }, "ask"],
    [{ kind: "a", deep: { by: z.number() } }, "deep.by"],
    [{ list: [1, z.literal(2)] }, "list.1"],
  ] as const)
    assert.throws(() => matcher(pattern, "The message"), {
      code: "BAD_DEFINITION",
      message: new RegExp(`^The message: \`match\` has a schema at ${path}, .*one schema around the whole`),
    });
});

void test("a payload that no pattern matches is no_handler, and starts no actor", async () => {
  await using on = await world([bot]);
  for (const payload of [{}, { kind: "z" }, { KIND: "a" }, { kind: ["a"] }, { constructor: "a" }])
    assert.equal(typeOf(await on.say("bot", "a", payload)), "no_handler", JSON.stringify(payload));
  await assert.rejects(on.actors.sendToActor("bot", "b", { kind: "z" }, { viewer: { principal: "ada", scopes: [] } }), {
    type: "no_handler",
  });
  assert.deepEqual(await on.actors.listActors({ principal: "ada", scopes: [] }), []);
});

void test("a payload's __proto__ is data: it matches no inherited members and changes no prototype", async () => {
  await using on = await world([bot]);
  const text = `{"version":"1.0","type":"actor_message","capability_id":"bot","actor_id":"a","context":{},"payload":{"__proto__":{"kind":"a","polluted":1}}}`;
  const reply = await on.session({ principal: "ada", scopes: [] }).receive(text);
  assert.equal(typeOf(reply), "no_handler");
  assert.equal(Reflect.get({}, "polluted"), undefined);
});

void test("a pattern that can match nothing is refused at its definition", () => {
  for (const pattern of [{}, { a: undefined }, { a: /x/ }, { a: Number.NaN }, { a: [() => 1] }, { a: new Date() }])
    assert.throws(() => matcher(pattern, "here"), { code: "BAD_DEFINITION", message: /^here: `match`/ });
});

void test("a match schema that validates asynchronously is reported once, without an unhandled rejection", async () => {
  const schema: StandardSchemaV1<unknown, object> = {
    "~standard": { version: 1, vendor: "test", validate: () => Promise.reject(new Error("late")) },
  };
  const asynchronous = actorCapability("late", {
    intent: "Validates late",
    initialState: {},
    messages: { any: { match: schema, run: () => "ran" } },
  });
  await using on = await world([asynchronous]);
  assert.equal(typeOf(await on.say("late", "a", { a: "x" })), "execution_failed");
  await on.clock.advance(1);
});

void test("a state schema that validates asynchronously is reported, without an unhandled rejection", async () => {
  const state: StandardSchemaV1<object, object> = {
    "~standard": { version: 1, vendor: "test", validate: () => Promise.reject(new Error("late")) },
  };
  const asynchronous = actorCapability("late", {
    intent: "Begins late",
    state,
    initialState: {},
    messages: { any: { match: { a: "x" }, run: () => "ran" } },
  });
  await using on = await world([asynchronous]);
  assert.equal(typeOf(await on.say("late", "a", { a: "x" })), "actor_crash");
  await on.clock.advance(1);
});

// Served modules have no types.
const made = (messages: object): ReturnType<typeof actorCapability> =>
  Reflect.apply(actorCapability, undefined, ["odd", { intent: "Gives odd things", initialState: { n: 0 }, messages }]);

const run = (give: () => unknown) => ({
  run({ state }: { readonly state: { n: number } }) {
    state.n += 1;
    return give();
  },
});
const odd: readonly (() => unknown)[] = [() => 10n, () => () => 1, () => Symbol("s")];

void test("a turn that returns what JSON cannot hold is a crash, and changes nothing", async () => {
  for (const give of odd) {
    await using on = await world([
      made({ look: { match: { look: true }, view: ({ state }: { readonly state: object }) => state }, go: run(give) }),
    ]);
    assert.equal(errorOf(await on.say("odd", "a", {}))?.type, "actor_crash");
    assert.deepEqual((await on.say("odd", "a", { look: true })).payload, { n: 0 });
    assert.match(String(on.faults[0]), /gave a (bigint|function|symbol)/);
  }
});

void test("a view that returns a promise or what JSON cannot hold is reported as an internal failure", async () => {
  for (const give of [...odd, async () => ({ n: 1 }), () => Promise.reject(new Error("late"))]) {
    await using on = await world([made({ look: { view: give } })]);
    assert.equal(errorOf(await on.say("odd", "a", {}))?.type, "execution_failed");
    assert.match(on.faults.map(String).join(), /messages\.look.*gave a/);
    assert.equal(on.faults.length, 1);
  }
});
