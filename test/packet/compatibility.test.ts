// Layers 1 and 2 as they were: functions, and packets to them, whether or not there are actors, tools and MCP beside them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import type { JsonObject } from "../../src/core/contract/index.ts";
import {
  actorCapability,
  auditLog,
  type Capability,
  capability,
  counter,
  histogram,
  mcpCapability,
  PacketError,
  type PacketSession,
} from "../../src/bridges/packet/index.ts";
import { anyMutant, anyRequest } from "../../src/bridges/packet/packets.fixture.ts";
import { at, isJsonObject } from "../wire.ts";
import { wholeFlow, type WholeFlow } from "./whole-flow.ts";

const functions = (): readonly Capability[] => [
  capability("user_transform", {
    intent: "Transform user data with specified operations",
    requires: ["user_id", "operations"],
    provides: ["user"],
    effects: [auditLog("info"), counter("users.transformed"), histogram("users.duration")],
    execute: ({ user_id, operations }, { user_id: who }) => ({ user: { user_id, operations }, who: who ?? null }),
  }),
  capability("user_report", {
    intent: "Report on a user",
    requires: ["user_id"],
    provides: ["report"],
    effects: [counter("users.reported")],
    execute: async ({ user_id }, { call }) => ({ report: await call("user_transform", { user_id, operations: ["trim"] }) }),
  }),
  capability("broken_promise", { intent: "Promise and not give", provides: ["gold"], execute: () => ({ silver: 1 }) }),
  capability("broken", {
    intent: "Break",
    effects: [auditLog("error")],
    execute() {
      throw new Error("inside");
    },
  }),
  capability("refusing", {
    intent: "Say no",
    execute() {
      throw new PacketError("execution_failed", "Not today.", { code: "CLOSED" });
    },
  }),
  capability("plain", { intent: "Return what is no object", execute: ({ value }) => value ?? null }),
];

const layer4 = (): readonly Capability[] => [
  actorCapability("notes", {
    intent: "Transform notes, and keep them",
    initialState: { notes: Array<string>() },
    persistence: "disk",
    search: ["payload:text"],
    messages: {
      add: {
        match: { message_type: "add" },
        run({ state }) {
          state.notes.push("one");
          return { count: state.notes.length };
        },
      },
    },
  }),
  mcpCapability("toolbox", {
    intent: "Offer tools",
    tools: { web_search: { description: "Search", parameters: { query: { type: "string" } }, required: ["query"] } },
    handleToolCall: (name) => ({ name }),
  }),
];

/** What only Layer 4 takes part in, in between. */
const beside: readonly JsonObject[] = [
  { type: "actor_message", capability_id: "notes", payload: { message_type: "add" } },
  { type: "capability_request", capability_id: "toolbox", payload: { tool: "web_search", parameters: { query: "x" } } },
  {
    type: "mcp_request",
    payload: {
      mcp_message: {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "user_transform", arguments: { user_id: "u", operations: [] } },
      },
    },
  },
];

const context = { trace_id: "trace_1", session_id: "s" };
const request = (capability_id: string, payload: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "capability_request",
  id: "r",
  intent: "A test",
  capability_id,
  payload,
  context,
  ...more,
});

const PACKETS: readonly JsonObject[] = [
  request("user_transform", { user_id: "u1", operations: ["trim", "lower"] }),
  request("user_transform", { user_id: "u1", operations: [] }, { context: { ...context, user_id: "ada", tenant: { a: [1, 2] } } }),
  request("user_transform", { user_id: "u1", operations: [] }, { context: {} }),
  request(
    "user_transform",
    { user_id: "u1", operations: [] },
    { metadata: { a: 1 }, unknown: true, actor_options: { persistence: "disk" } },
  ),
  request("user_transform", { user_id: "u1" }),
  request("user_transform", {}),
  request("user_transform", { user_id: "u1", operations: [] }, { context: { ...context, user_id: "eve" } }),
  request("user_transform", { user_id: "u1", operations: [] }, { type: "actor_message" }),
  request("user_transform", { user_id: "u1", operations: [] }, { version: "2.0" }),
  request("user_report", { user_id: "u2" }),
  request("broken_promise", {}),
  request("broken", {}),
  request("refusing", {}),
  ...[1, "text", null, [1], { a: 1 }].map((value) => request("plain", { value })),
  request("nobody", {}),
  request("user_transform", {}, { type: "shout" }),
  { type: "heartbeat", id: "h", context },
  { type: "cancel", id: "c", payload: { id: "r" }, context },
  { type: "cancel", id: "c", context },
];

const textOf = (packet: JsonObject): string => JSON.stringify({ version: "1.0", ...packet });

/** The reply's bytes but for times and the trace that was made up. */
const bytes = async (session: PacketSession, text: string): Promise<string> => {
  const said = JSON.stringify(await session.receive(text)).replace(/"execution_time_ms":[\d.e-]+/g, '"execution_time_ms":0');
  return said.replace(/"trace_id":"([0-9a-f]{32})"/, (whole, id: string) => (text.includes(id) ? whole : '"trace_id":"made up"'));
};

const both = async (run: (off: WholeFlow, on: WholeFlow) => Promise<void>): Promise<void> => {
  await using off = await wholeFlow(functions(), { mcp: false });
  await using on = await wholeFlow([...layer4(), ...functions()], { mcp: true });
  await run(off, on);
};

describe("Layers 1 and 2, with Layer 4 and without", () => {
  test("answer every sort of packet byte for byte alike #packet.backward.unchanged", () =>
    both(async (off, on) => {
      const [without, within] = [off.open("ada"), on.open("ada")];
      for (const packet of PACKETS) {
        for (const other of beside) assert.equal((await within.receive(textOf(other))).type, "capability_response");
        const expected = await bytes(without, textOf(packet));
        assert.equal(await bytes(within, textOf(packet)), expected);
        assert.match(expected, /"type":"(?:capability_response|capability_error|heartbeat)"/);
      }
      await without.close();
      await within.close();
    }));

  test("answer alike whatever is sent to them #packet.backward.wire", () =>
    both(async (off, on) => {
      const [without, within] = [off.open("ada"), on.open("ada")];
      const ids = [...functions().map(({ id }) => id), "nobody"];
      const aimed = fc
        .tuple(anyRequest, fc.constantFrom(...ids))
        .map(([packet, capability_id]): JsonObject => ("capability_id" in packet ? { ...packet, capability_id } : packet));
      const any = fc.oneof(aimed, anyMutant).filter((packet) => !isJsonObject(packet) || packet["type"] !== "mcp_request");
      await fc.assert(
        fc.asyncProperty(any, async (packet) => {
          const text = JSON.stringify(packet);
          assert.equal(await bytes(within, text), await bytes(without, text));
        }),
        { numRuns: 500 },
      );
    }));

  test("tell of the same effects #packet.backward.unchanged", () =>
    both(async (off, on) => {
      const told = async (flow: WholeFlow): Promise<readonly unknown[]> => {
        const session = flow.open("ada");
        for (const packet of PACKETS) await session.receive(textOf(packet));
        return flow.effects.map(({ duration_ms: _took, value, trace_id, effect, ...rest }) => ({
          ...rest,
          effect,
          value: effect.effect === "metric" && effect.metric === "histogram" ? 0 : value,
          trace_id: trace_id === "trace_1" ? trace_id : "made up",
        }));
      };
      const expected = await told(off);
      assert.deepEqual(await told(on), expected);
      assert.ok(expected.length > 10);
    }));

  test("are listed, found and asked for alike, and nothing of Layer 4 is there unless it was asked for #packet.backward.opt-in #packet.backward.api", () =>
    both(async (off, on) => {
      const shown = ({ capabilities }: WholeFlow): unknown =>
        functions().map(({ id }) => JSON.stringify({ ...capabilities.get(id), does: capabilities.get(id)?.does.how }));
      assert.deepEqual(shown(on), shown(off));
      const found = ({ capabilities }: WholeFlow): unknown =>
        [
          capabilities.discover({ requires: ["user_id"] }),
          capabilities.discover({ provides: ["user"] }),
          capabilities.discover("report"),
        ].map((all) => all.map(({ id }) => id));
      assert.deepEqual(found(on), found(off));
      assert.deepEqual(found(off), [["user_transform", "user_report"], ["user_transform"], ["user_report"]]);
      const session = off.open("ada");
      const tunnelled = await session.receive(textOf(beside[2] ?? {}));
      assert.equal(tunnelled.type, "capability_error");
      assert.equal(tunnelled.metadata["error_code"], "CAPABILITY_NOT_FOUND");
      assert.deepEqual(at(await off.written(), "events"), {});
    }));
});
