import assert from "node:assert/strict";
import { test } from "node:test";
import { as, errorOf, world } from "./core.fixture.ts";
import { actorCapability } from "./define-actor.ts";
import { mcpCapability } from "./define-capability.ts";

const look = mcpCapability("look", {
  intent: "Looks",
  tools: { one: { description: "d" }, two: { description: "d", parameters: { q: { type: "string" } }, required: ["q"] } },
  handleToolCall: (name, parameters) => ({ name, parameters }),
});

const notes = actorCapability("notes", {
  intent: "Notes",
  requires: ["text"],
  parameters: { type: "object", properties: { text: { type: "string" } } },
  initialState: { n: 0 },
  messages: {
    add: {
      run({ state }) {
        state.n += 1;
        return { n: state.n };
      },
    },
  },
});

const missing = (field: string) => ({
  type: "validation_failed",
  message: `Missing required field: ${field}`,
  details: { missing: [field] },
});

void test("what a tool lacks is told as what a capability lacks, and where a value does not fit by its path", async () => {
  await using on = await world([look, notes]);
  const ask = async (payload: Parameters<typeof on.say>[2]) =>
    errorOf(await on.send({ type: "capability_request", capability_id: "look", payload }));
  assert.deepEqual(await ask({ tool: "two" }), missing("q"));
  assert.deepEqual(await ask({ tool: "two", parameters: { q: 1 } }), {
    type: "validation_failed",
    message: "q must be string",
    details: { issues: [{ path: "/q", message: "q must be string" }] },
  });
  for (const parameters of ["abc", [1], 5])
    assert.deepEqual((await ask({ tool: "one", parameters }))?.details, {
      issues: [{ path: "/parameters", message: "must be an object" }],
    });
  assert.equal(await ask({ tool: "one" }), undefined);
  assert.deepEqual(errorOf(await on.say("notes", "a", { text: 1 }))?.details, {
    issues: [{ path: "/text", message: "text must be string" }],
  });
});

void test("a payload is held to what is declared whoever sends it, and begins nobody where it does not fit", async () => {
  await using on = await world([notes]);
  const viewer = as("ada");
  for (const [payload, error] of [
    [{}, missing("text")],
    [{ text: 1 }, { type: "validation_failed" }],
  ] as const) {
    await assert.rejects(on.actors.requestFromActor("notes", "a", payload, { viewer }), error);
    await assert.rejects(on.actors.sendToActor("notes", "a", payload, { viewer }), error);
  }
  assert.equal(await on.engine.read("notes/a"), undefined);
  assert.deepEqual(await on.actors.requestFromActor("notes", "a", { text: "t" }, { viewer }), { result: { n: 1 }, message_count: 1 });
});
