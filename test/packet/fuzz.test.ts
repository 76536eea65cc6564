// Whatever comes in a packet: the right kind of error, and nothing written.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import * as fc from "fast-check";
import * as z from "zod";
import type { JsonObject, Json } from "../../src/core/contract/index.ts";
import {
  actorCapability,
  capability,
  ERROR_TYPES,
  mcpCapability,
  type PacketSession,
  readPacket,
  RefusedPacket,
  type ReplyPacket,
} from "../../src/bridges/packet/index.ts";
import { anyMutant, anyRequest } from "../../src/bridges/packet/packets.fixture.ts";
import { at } from "../wire.ts";
import { wholeFlow, type WholeFlow } from "./whole-flow.ts";

const notes = actorCapability("notes", {
  intent: "Keep notes",
  requires: ["message_type"],
  initialState: { notes: Array<string>() },
  persistence: "disk",
  messages: {
    add: {
      match: z.object({ message_type: z.literal("add"), text: z.string().min(1) }),
      run({ state, payload }) {
        state.notes.push(payload.text);
        return { count: state.notes.length };
      },
    },
    crash: {
      match: { message_type: "crash" },
      run({ state }) {
        state.notes.push("lost");
        throw new Error("xyzzy");
      },
    },
  },
});

const given = [
  notes,
  actorCapability("own", {
    intent: "Keep nothing",
    initialState: {},
    messages: { only: { match: { message_type: "only" }, run: () => ({}) } },
  }),
  capability("transform", { intent: "Transform", requires: ["user_id", "operations"], execute: () => ({ done: true }) }),
  mcpCapability("toolbox", { intent: "Offer tools", tools: { look: { description: "Look" } }, handleToolCall: () => ({}) }),
];

let flow: WholeFlow;
let ada: PacketSession;
let nobody: PacketSession;
let settled: unknown;

before(async () => {
  flow = await wholeFlow(given, { mcp: true, actors: { maxPerUser: 2 } });
  ada = flow.open("ada");
  nobody = flow.open(undefined);
  const bob = flow.open("bob");
  for (const [session, actor_id] of [
    [ada, "a1"],
    [ada, "a2"],
    [bob, "b1"],
  ] as const) {
    const reply = await session.receive(
      JSON.stringify({
        version: "1.0",
        type: "actor_message",
        capability_id: "notes",
        actor_id,
        payload: { message_type: "add", text: "first" },
      }),
    );
    assert.equal(reply.type, "capability_response");
  }
  settled = await flow.written();
});

after(() => flow[Symbol.asyncDispose]());

/** The error's type; of other replies their own. */
const kind = ({ type, payload }: ReplyPacket): unknown => (type === "capability_error" ? at(payload, "error", "type") : type);

const sound = (reply: ReplyPacket): void => {
  assert.equal(reply.version, "1.0");
  if (reply.type !== "capability_error") return;
  const { error } = reply.payload;
  assert.ok(ERROR_TYPES.some((type) => type === at(error, "type")));
  assert.ok(String(at(error, "message")).length > 10);
  assert.equal(typeof at(error, "details"), "object");
  assert.equal(typeof reply.metadata["error_code"], "string");
  // A fuzzer writes ".ts", too, and is answered with what it wrote: a place in the code has a line.
  assert.doesNotMatch(JSON.stringify(reply), /xyzzy|node:internal|file:\/\/|\.ts:\d/);
};

const packetOf = (packet: JsonObject): string => JSON.stringify({ version: "1.0", type: "actor_message", ...packet });

const json: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 2 }).map((value): Json => JSON.parse(JSON.stringify(value)));
const payload = fc.dictionary(fc.string({ maxLength: 8 }), json, { maxKeys: 4 });
const without = (bag: JsonObject, ...names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(bag).filter(([name]) => !names.includes(name)));
const text = fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" });
const actor_id = fc.constantFrom("a1", "a2");

/** Of the right form, and wrong all the same: each with the type of error that it is. */
const WRONG: Readonly<Record<string, fc.Arbitrary<JsonObject>>> = {
  capability_not_found: fc
    .tuple(fc.constantFrom("capability_request", "actor_message"), text, payload)
    .map(([type, name, said]) => ({ type, capability_id: `${name}?`, payload: said })),
  validation_failed: fc.oneof(
    payload.map((said) => ({ type: "capability_request", capability_id: "transform", payload: without(said, "operations") })),
    fc.tuple(actor_id, payload).map(([id, said]) => ({ capability_id: "notes", actor_id: id, payload: without(said, "message_type") })),
    fc.tuple(fc.constantFrom("transform", "toolbox"), payload).map(([capability_id, said]) => ({
      capability_id,
      payload: { ...said, user_id: "u", operations: [] },
    })),
  ),
  no_handler: fc.oneof(
    fc
      .tuple(fc.oneof(actor_id, text), payload, json)
      .map(([id, said, message_type]) => ({ capability_id: "notes", actor_id: id, payload: { ...without(said, "text"), message_type } }))
      .filter(({ payload: said }) => said["message_type"] !== "crash" && said["message_type"] !== null),
    payload.map((said) => ({ capability_id: "own", payload: without(said, "message_type") })),
    payload.map((said) => ({ type: "capability_request", capability_id: "toolbox", payload: without(said, "tool") })),
  ),
  unauthorized: fc
    .tuple(anyRequest, text)
    .filter(([{ type }]) => type === "capability_request" || type === "actor_message" || type === "mcp_request")
    .map(([packet, user]) => ({
      type: packet["type"] ?? "",
      payload: { ...WELL, mcp_message: { jsonrpc: "2.0", id: 1, method: "ping" } },
      capability_id: "notes",
      context: { user_id: `${user}!` },
    })),
  // b1 is another user's, and is answered as one that is not there.
  actor_not_found: fc
    .oneof(
      text.map((id) => `${id}.`),
      fc.constant("b1"),
    )
    .map((id) => ({ capability_id: "notes", actor_id: id, payload: WELL, actor_options: { create_if_missing: false } })),
  actor_limit_exceeded: fc.oneof(
    fc
      .constantFrom({}, { actor_options: { persistence: "memory", state_timeout: 1 } })
      .map((options) => ({ capability_id: "notes", actor_id: "b1", payload: WELL, ...options })),
    text.map((id) => ({ capability_id: "notes", actor_id: `${id}.`, payload: WELL })),
    fc.constant({ capability_id: "own", payload: { message_type: "only" } }),
  ),
  actor_crash: actor_id.map((id) => ({ capability_id: "notes", actor_id: id, payload: { message_type: "crash" } })),
};

const WELL: JsonObject = { message_type: "add", text: "more" };

describe("fuzzed packets to a whole system", () => {
  test("of any bytes are protocol errors #packet.implied.2-protocol #packet.fuzz", async () => {
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string({ unit: "binary", maxLength: 300 }));
    await fc.assert(
      fc.asyncProperty(bytes, async (frame) => {
        const reply = await ada.receive(frame);
        sound(reply);
        assert.equal(kind(reply), "protocol_error");
      }),
      { numRuns: 1_000 },
    );
    assert.deepEqual(await flow.written(), settled);
  });

  test("that were changed are refused as what they are, or are about nothing that is there #packet.implied.2-protocol #packet.fuzz", async () => {
    await fc.assert(
      fc.asyncProperty(anyMutant, async (packet) => {
        const frame = JSON.stringify(packet);
        const read = readPacket(frame);
        const reply = await ada.receive(frame);
        sound(reply);
        if (read instanceof RefusedPacket) return assert.equal(kind(reply), read.type);
        const expected: readonly unknown[] =
          read.type === "heartbeat"
            ? ["heartbeat"]
            : read.type === "cancel"
              ? ["capability_response"]
              : read.type === "mcp_request"
                ? ["capability_response", "protocol_error", "unauthorized"]
                : ["capability_not_found", "unauthorized"];
        assert.ok(expected.includes(kind(reply)), `${read.type}: ${String(kind(reply))}`);
      }),
      { numRuns: 1_500 },
    );
    assert.deepEqual(await flow.written(), settled);
  });

  for (const [type, packet] of Object.entries(WRONG))
    test(`that are wrong in what they ask are answered ${type} #packet.message.create-if-missing #packet.end.error #packet.implied.2-asked #packet.fuzz`, async () => {
      await fc.assert(
        fc.asyncProperty(packet, async (one) => {
          const reply = await ada.receive(packetOf(one));
          sound(reply);
          assert.equal(kind(reply), type, JSON.stringify(reply.payload));
        }),
        { numRuns: 200 },
      );
      assert.deepEqual(await flow.written(), settled);
    });

  test("with MCP inside that is none are answered with a JSON-RPC error, or refused #packet.security.validation", async () => {
    const rpc = fc.oneof(
      payload,
      fc.record({ jsonrpc: fc.constant("2.0"), id: json, method: text, params: payload }, { requiredKeys: ["method"] }),
      fc.tuple(fc.constantFrom("tools/call", "resources/read", "prompts/get"), payload).map(([method, params]) => ({
        jsonrpc: "2.0",
        id: 1,
        method,
        params,
      })),
      fc.tuple(fc.constantFrom("notes", "own", "transform", "look", "toolbox", "nothing"), payload).map(([name, args]) => ({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: name === "look" ? "Look" : name, arguments: without(args, "message_type", "operations") },
      })),
      fc.array(json, { maxLength: 3 }),
    );
    await fc.assert(
      fc.asyncProperty(rpc, fc.boolean(), async (mcp_message, known) => {
        const reply = await (known ? ada : nobody).receive(packetOf({ type: "mcp_request", payload: { mcp_message } }));
        sound(reply);
        if (reply.type === "capability_error") return assert.equal(kind(reply), "protocol_error");
        const answer = reply.payload["mcp_message"];
        if (answer === undefined) return assert.ok(!("id" in mcp_message), "only a notification has no answer");
        assert.ok(at(answer, "error", "code") !== undefined || at(answer, "result", "isError") === true, JSON.stringify(answer));
      }),
      { numRuns: 1_000 },
    );
    assert.deepEqual(await flow.written(), settled);
  });

  test("leave a system that still does what it is asked #packet.fuzz", async () => {
    const reply = await ada.receive(packetOf({ capability_id: "notes", actor_id: "a1", payload: WELL }));
    assert.deepEqual(reply.payload, { count: 2 });
    assert.notDeepEqual(await flow.written(), settled);
  });
});
