import assert from "node:assert/strict";
import { test } from "node:test";
import { WIRE_LIMITS } from "./codec.ts";
import { type Command, printCommand, readCommand } from "./commands.ts";
import { printResponse, readResponse, type Response } from "./responses.ts";
import { type Printable, printJson, readWireJson, WireError } from "./wire-json.ts";

const ID = "0c7e6f1a-0000-4000-8000-000000000001";
const OTHER = "1d8f7a2b-0000-4000-8000-000000000002";
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const EVENT = {
  hash: new Uint8Array(20).fill(7),
  parentHash: null,
  eventType: "wasm",
  data: bytes("{}"),
  timestamp: 1_745_424_600_000,
  description: "d",
};
const text = (value: Printable): string => printJson(value, 1_000_000).toString();
const wire = (value: unknown) => readWireJson(Buffer.from(JSON.stringify(value)), WIRE_LIMITS);

const COMMANDS: readonly (readonly [Command, string])[] = [
  [
    { type: "StartActor", manifest: 'name = "a"', initialState: bytes("{}"), parent: true, subscribe: false },
    String.raw`{"StartActor":{"manifest":"name = \"a\"","initial_state":[123,125],"parent":true,"subscribe":false}}`,
  ],
  [
    { type: "StartActor", manifest: "/m.toml", initialState: null, parent: false, subscribe: false },
    '{"StartActor":{"manifest":"/m.toml","initial_state":null,"parent":false,"subscribe":false}}',
  ],
  [{ type: "StopActor", id: ID }, `{"StopActor":{"id":"${ID}"}}`],
  [{ type: "TerminateActor", id: ID }, `{"TerminateActor":{"id":"${ID}"}}`],
  [{ type: "ListActors" }, '"ListActors"'],
  [{ type: "SubscribeToActor", id: ID }, `{"SubscribeToActor":{"id":"${ID}"}}`],
  [{ type: "UnsubscribeFromActor", id: ID, subscriptionId: OTHER }, `{"UnsubscribeFromActor":{"id":"${ID}","subscription_id":"${OTHER}"}}`],
  [{ type: "SendActorMessage", id: ID, data: bytes("x") }, `{"SendActorMessage":{"id":"${ID}","data":[120]}}`],
  [{ type: "RequestActorMessage", id: ID, data: bytes("") }, `{"RequestActorMessage":{"id":"${ID}","data":[]}}`],
  [{ type: "GetActorManifest", id: ID }, `{"GetActorManifest":{"id":"${ID}"}}`],
  [{ type: "GetActorStatus", id: ID }, `{"GetActorStatus":{"id":"${ID}"}}`],
  [{ type: "RestartActor", id: ID }, `{"RestartActor":{"id":"${ID}"}}`],
  [{ type: "GetActorState", id: ID }, `{"GetActorState":{"id":"${ID}"}}`],
  [{ type: "GetActorEvents", id: ID }, `{"GetActorEvents":{"id":"${ID}"}}`],
  [{ type: "GetActorMetrics", id: ID }, `{"GetActorMetrics":{"id":"${ID}"}}`],
  [{ type: "UpdateActorComponent", id: ID, component: "/c.wasm" }, `{"UpdateActorComponent":{"id":"${ID}","component":"/c.wasm"}}`],
  [
    { type: "OpenChannel", with: { actor: ID }, initialMessage: bytes("") },
    `{"OpenChannel":{"actor_id":{"Actor":"${ID}"},"initial_message":[]}}`,
  ],
  [{ type: "OpenChannel", with: "external", initialMessage: bytes("a") }, '{"OpenChannel":{"actor_id":"External","initial_message":[97]}}'],
  [{ type: "SendOnChannel", channelId: "ch_0", message: bytes("a") }, '{"SendOnChannel":{"channel_id":"ch_0","message":[97]}}'],
  [{ type: "CloseChannel", channelId: "ch_0" }, '{"CloseChannel":{"channel_id":"ch_0"}}'],
  [{ type: "NewStore" }, '{"NewStore":{}}'],
];

void test("every command has the text of serde and is read back", () => {
  for (const [command, expected] of COMMANDS) {
    assert.equal(text(printCommand(command)), expected);
    assert.deepEqual(readCommand(wire(JSON.parse(expected))), command);
  }
});

void test("commands of older, npm and lenient clients are understood", () => {
  for (const value of ["ListActors", { ListActors: null }, { ListActors: {} }])
    assert.deepEqual(readCommand(wire(value)), { type: "ListActors" });
  for (const value of ["NewStore", { NewStore: null }, { NewStore: {} }]) assert.deepEqual(readCommand(wire(value)), { type: "NewStore" });
  const start = { type: "StartActor", manifest: "m", initialState: null, parent: false, subscribe: false };
  for (const fields of [{ manifest: "m" }, { manifest: "m", initial_state: null, parent: null, unknown: [1, {}] }])
    assert.deepEqual(readCommand(wire({ StartActor: fields })), start);
  assert.deepEqual(readCommand(wire({ OpenChannel: { actor_id: { Client: "me" } } })), {
    type: "OpenChannel",
    with: "external",
    initialMessage: new Uint8Array(0),
  });
});

void test("an invalid command names the wrong field", () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [7, /A command must be a name/],
    [{}, /A command must be a name/],
    [{ StopActor: { id: ID }, ListActors: {} }, /A command must be a name/],
    ["Dance", /no command "Dance"/],
    [{ StopActor: 7 }, /StopActor must be an object/],
    ["StopActor", /StopActor\.id must be a string/],
    [{ StopActor: { id: "" } }, /StopActor\.id must be an id/],
    [{ StopActor: { id: "x".repeat(600) } }, /StopActor\.id must be an id/],
    [{ StartActor: { manifest: "m", parent: 1 } }, /StartActor\.parent must be true or false/],
    [{ SendActorMessage: { id: ID, data: [256] } }, /SendActorMessage\.data must be a list of numbers of 0 to 255/],
    [{ SendActorMessage: { id: ID, data: "text" } }, /SendActorMessage\.data/],
    [{ SendActorMessage: { id: ID, data: [1, "2"] } }, /SendActorMessage\.data/],
    [{ OpenChannel: { actor_id: { Actor: 7 } } }, /OpenChannel\.actor_id must be/],
  ];
  for (const [value, words] of cases)
    assert.throws(
      () => readCommand(wire(value)),
      (error) => error instanceof WireError && words.test(error.message),
      JSON.stringify(value),
    );
});

const RESPONSES: readonly Response[] = [
  { type: "ActorStarted", id: ID },
  { type: "ActorStopped", id: ID },
  { type: "Subscribed", id: ID, subscriptionId: OTHER },
  { type: "Unsubscribed", id: ID },
  { type: "SentMessage", id: ID },
  { type: "RequestedMessage", id: ID, message: bytes("pong") },
  { type: "ActorManifest", id: ID, manifest: { name: "a", handlers: [{ type: "runtime", config: {} }] } },
  { type: "ActorManifest", id: ID, manifest: { name: "a" }, origin: "a/a.toml" },
  { type: "ActorStatus", id: ID, status: "RUNNING", reportsPauses: true },
  { type: "ActorStatus", id: ID, status: "PAUSED", reportsPauses: true },
  { type: "ActorStatus", id: ID, status: "FAILED", reportsPauses: true },
  { type: "ActorStatus", id: ID, status: "STOPPED", reportsPauses: true },
  { type: "Restarted", id: ID },
  { type: "ActorState", id: ID, state: null },
  { type: "ActorState", id: ID, state: bytes("") },
  { type: "ActorEvents", id: ID, events: [] },
  { type: "ActorEvents", id: ID, events: [EVENT, { ...EVENT, parentHash: EVENT.hash, description: null }] },
  { type: "ActorMetrics", id: ID, metrics: { a: 1, list: [1, 2], none: null } },
  { type: "ActorComponentUpdated", id: ID },
  { type: "ChannelOpened", channelId: "ch_0", with: { actor: ID } },
  { type: "MessageSent", channelId: "ch_0" },
  { type: "ChannelClosed", channelId: "ch_0" },
  { type: "StoreCreated", storeId: OTHER },
  { type: "Error", fault: { code: "ActorNotFound", message: "Nobody is called that: list the actors." } },
  { type: "Error", fault: { code: "InvalidRequest", message: "why" } },
  { type: "Error", fault: { code: "ActorInitializationError", message: "why" } },
  { type: "ActorEvent", id: ID, event: EVENT },
  { type: "ActorError", id: ID, failure: { event: EVENT, message: "why" } },
  { type: "ActorError", id: ID, failure: { event: undefined, message: "why" } },
  { type: "ActorResult", id: ID, end: { how: "success", result: undefined } },
  { type: "ActorResult", id: ID, end: { how: "success", result: bytes("r") } },
  { type: "ActorResult", id: ID, end: { how: "error", event: EVENT, message: "why" } },
  { type: "ActorResult", id: ID, end: { how: "external-stop" } },
  { type: "ChannelMessage", channelId: "ch_0", from: { actor: ID }, message: bytes("hi") },
  { type: "ChannelMessage", channelId: "ch_0", from: "external", message: bytes("") },
];

void test("every response is read back in both codecs", () => {
  for (const response of RESPONSES)
    for (const codec of ["raw", "fragmenting"] as const)
      assert.deepEqual(readResponse(wire(JSON.parse(text(printResponse(response, codec))))), response, response.type);
});

void test("a list has ids in the raw codec and pairs in the fragmenting one", () => {
  const list: Response = { type: "ActorList", actors: [{ id: ID, name: "counter" }] };
  assert.equal(text(printResponse(list, "raw")), `{"ActorList":{"actors":["${ID}"]}}`);
  assert.equal(text(printResponse(list, "fragmenting")), `{"ActorList":{"actors":[["${ID}","counter"]]}}`);
  assert.deepEqual(readResponse(wire({ ActorList: { actors: [ID] } })), { type: "ActorList", actors: [{ id: ID }] });
  assert.deepEqual(readResponse(wire({ ActorList: { actors: [[ID, "counter"]] } })), list);
  assert.deepEqual(readResponse(wire({ ActorList: { actors: [] } })), { type: "ActorList", actors: [] });
});

void test("errors, events and ends have shapes that clients of all versions accept", () => {
  const shape = (response: Response): unknown => JSON.parse(text(printResponse(response, "raw")));
  assert.deepEqual(shape({ type: "Error", fault: { code: "ActorNotFound", message: "m" } }), {
    Error: { error: "ActorNotFound", message: "m" },
  });
  assert.deepEqual(shape({ type: "Error", fault: { code: "RuntimeError", message: "m" } }), {
    Error: { error: { RuntimeError: "m" }, message: "m" },
  });
  assert.deepEqual(shape({ type: "Error", fault: { code: "ActorInitializationError", message: "m" } }), {
    Error: { error: { RuntimeError: "m" }, message: "m", code: "ActorInitializationError" },
  });
  assert.equal(
    text(printResponse({ type: "ActorEvent", id: ID, event: EVENT }, "raw")),
    `{"ActorEvent":{"id":"${ID}","event":{"hash":[${Array.from(EVENT.hash).join(",")}],"parent_hash":null,"event_type":"wasm","data":[123,125],"timestamp":1745424600000,"description":"d"}}}`,
  );
  assert.deepEqual(shape({ type: "ActorResult", id: ID, end: { how: "external-stop" } }), {
    ActorResult: { ExternalStop: { actor_id: ID } },
  });
});

void test("responses of older and newer servers are understood", () => {
  const read = (value: unknown): unknown => readResponse(wire(value));
  assert.deepEqual(read({ Error: { message: "Channel rejected by target actor" } }), {
    type: "Error",
    fault: { code: "ChannelRejected", message: "Channel rejected by target actor" },
  });
  assert.deepEqual(read({ Error: { message: "Failed: Target actor not found" } }), {
    type: "Error",
    fault: { code: "ActorNotFound", message: "Failed: Target actor not found" },
  });
  assert.deepEqual(read({ Error: { error: { SomethingNew: "s" } } }), { type: "Error", fault: { code: "RuntimeError", message: "s" } });
  assert.deepEqual(read({ Error: { error: "Timeout" } }), {
    type: "Error",
    fault: { code: "Timeout", message: "The server says Timeout." },
  });
  assert.deepEqual(read({ ActorError: { error: { OperationTimeout: 5 } } }), {
    type: "ActorError",
    failure: { event: undefined, message: "OperationTimeout: 5" },
  });
  assert.deepEqual(read({ ActorEvent: { event: { hash: [1], parent_hash: null, event_type: "t", data: [] } } }), {
    type: "ActorEvent",
    event: { hash: bytes("\x01"), parentHash: null, eventType: "t", data: bytes(""), timestamp: 0, description: null },
  });
});

void test("an unknown response is refused by name", () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ["Nothing", /no response "Nothing"/],
    [{ ActorStatus: { id: ID, status: "Dancing" } }, /ActorStatus\.status must be/],
    [{ ActorList: { actors: [true] } }, /ActorList\.actors must hold/],
    [{ ActorEvents: { id: ID, events: [{ hash: "x" }] } }, /ActorEvents\.events\.hash/],
    [{ ActorEvents: { id: ID, events: [{ hash: [], event_type: "t", data: [], timestamp: -1 }] } }, /timestamp must be a whole number/],
    [{ ActorResult: { Vanished: { actor_id: ID } } }, /ActorResult must be/],
    [{ Error: { error: 7 } }, /Error\.error/],
  ];
  for (const [value, words] of cases)
    assert.throws(
      () => readResponse(wire(value)),
      (error) => error instanceof WireError && words.test(error.message),
      JSON.stringify(value),
    );
});
