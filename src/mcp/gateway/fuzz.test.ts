// Invalid input is answered with the right error or ignored, and the server goes on.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JSONRPCErrorResponseSchema, JSONRPCMessageSchema } from "@modelcontextprotocol/core";
import * as fc from "fast-check";
import type { JsonObject } from "../../core/contract/index.ts";
import { bodyOf, channelDouble, ENVELOPE, exchangeOf, gatewayOf, quiet, until, world } from "./kit.fixture.ts";

const METHODS = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "server/discover",
  "subscriptions/listen",
  "notifications/cancelled",
  "constructor",
  "__proto__",
];
const NAMES = ["look", "open", "confirm", "fails", "region", "knock", "__proto__", "constructor", "toString", ""];

const key = fc.constantFrom(
  "name",
  "uri",
  "arguments",
  "_meta",
  "cursor",
  "level",
  "ref",
  "argument",
  "inputResponses",
  "requestState",
  "notifications",
  "protocolVersion",
  "capabilities",
  "requestId",
  "__proto__",
  "constructor",
);
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    ...NAMES,
    "door://state",
    "door://part/%E0%A4%A",
    "2025-11-25",
    null,
    true,
    0,
    -1,
    1e300,
    "\ud800",
    ENVELOPE,
    [],
    {},
  ),
  fc.string(),
  fc.integer(),
);
const params = fc.dictionary(key, fc.oneof(leaf, fc.dictionary(key, leaf), fc.array(leaf, { maxLength: 3 })), { maxKeys: 5 });
const message = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>("2.0", "2.0", "2.0", "1.0", 2),
    id: fc.oneof(fc.integer(), fc.string(), fc.constantFrom<unknown>(null, 1.5, {}, [])),
    method: fc.oneof(fc.constantFrom<unknown>(...METHODS), fc.string(), fc.constant(7)),
    params: fc.oneof(params, leaf),
    result: leaf,
    error: leaf,
  },
  { requiredKeys: ["jsonrpc"] },
);
const text = fc.oneof(
  message.map((one) => JSON.stringify(one)),
  fc.array(message, { maxLength: 3 }).map((many) => JSON.stringify(many)),
  fc.string(),
  fc.json(),
);
const frame = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 64 }),
  text.map((one) => Buffer.from(one).subarray(0, Math.floor(one.length / 2))),
);

const hello = {
  jsonrpc: "2.0",
  id: "hello",
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name: "t", version: "1" } },
};

function isReply(body: JsonObject): boolean {
  const nullId = "error" in body && body["id"] === null;
  return nullId ? JSONRPCErrorResponseSchema.safeParse({ ...body, id: 0 }).success : JSONRPCMessageSchema.safeParse(body).success;
}

describe("fuzzed input", () => {
  for (const era of ["nothing", "legacy", "modern"] as const)
    test(`on a stream after ${era} is answered or ignored, and the next request is served #secure.stacks #spec.7.json-rpc`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(frame, { maxLength: 6 }), async (frames) => {
          await using gateway = gatewayOf(world().source, { rateLimit: false });
          const channel = channelDouble();
          const connection = gateway.connect(channel, { principal: "local", scopes: [] });
          if (era === "legacy") connection.receive(JSON.stringify(hello));
          if (era === "modern")
            connection.receive(JSON.stringify({ jsonrpc: "2.0", id: "hello", method: "tools/list", params: { _meta: ENVELOPE } }));
          for (const one of frames) connection.receive(one);
          await quiet();
          for (const event of channel.events) {
            const body: unknown = JSON.parse(event.text);
            for (const one of Array.isArray(body) ? body : [body]) assert.ok(isReply(one), event.text);
            assert.doesNotMatch(event.text, /-32603|secret|at .*\.ts/);
          }
          const last = {
            jsonrpc: "2.0",
            id: "the last one",
            method: "tools/call",
            params: { name: "look", ...(era === "modern" ? { _meta: ENVELOPE } : {}) },
          };
          connection.receive(JSON.stringify(last));
          await until(() => channel.events.some((event) => event.text.includes("the last one")));
        }),
        { numRuns: 150 },
      );
    });

  test("in a POST gets a status and a JSON-RPC error #spec.7.errors", async () => {
    const headers = fc.dictionary(
      fc.constantFrom(
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "idempotency-key",
        "accept",
        "content-type",
      ),
      fc.oneof(
        fc.constantFrom("2025-11-25", "2026-07-28", "tools/call", "look", "*/*", "application/json", "=?base64?YQ==?="),
        fc.string(),
      ),
    );
    await using gateway = gatewayOf(world().source, { rateLimit: false });
    const opened = await gateway.exchange(exchangeOf("POST", {}, hello).exchange);
    const session = opened.headers?.["mcp-session-id"] ?? "";
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("POST" as const, "POST" as const, "GET" as const, "DELETE" as const),
        headers,
        frame,
        fc.boolean(),
        async (verb, given, body, known) => {
          const sent = exchangeOf(
            verb,
            { ...given, ...(known && verb === "POST" ? { "mcp-session-id": session } : {}) },
            typeof body === "string" ? Buffer.from(body) : body,
          );
          const running = gateway.exchange(sent.exchange);
          await quiet();
          sent.leave();
          const answer = await Promise.race([running, quiet().then(() => undefined)]);
          if (answer?.body === undefined) return;
          assert.ok(answer.status >= 200 && answer.status < 500, String(answer.status));
          const answered: unknown = bodyOf(answer);
          for (const one of Array.isArray(answered) ? answered : [answered]) assert.ok(isReply(one), JSON.stringify(one));
          assert.doesNotMatch(JSON.stringify(answered), /-32603|secret/);
        },
      ),
      { numRuns: 300 },
    );
    const look = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "look" } };
    assert.equal((await gateway.exchange(exchangeOf("POST", { "mcp-session-id": session }, look).exchange)).status, 200);
  });
});
