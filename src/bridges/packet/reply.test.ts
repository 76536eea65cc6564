import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { EngineError } from "../../core/contract/index.ts";
import { type PacketEcho, RefusedPacket, readPacket } from "./read-packet.ts";
import { ERROR_TYPES, PacketError } from "./packet.ts";
import { errorTo, heartbeatTo, progressFor, responseTo } from "./reply.ts";

const to: PacketEcho = { id: "r1", intent: "why", capability_id: "sum", actor_id: "a", context: { user_id: "u", tenant: [1] } };
const facts = { execution_time_ms: 12.5, trace_id: "t" };
const context = { user_id: "u", tenant: [1], trace_id: "t" };

describe("every reply", () => {
  const error = new PacketError("no_handler", "No pattern fits.");

  test("repeats id, intent, capability_id, actor_id and context, with the generated trace #packet.message.context #packet.implied.1-actor-reply", () => {
    for (const reply of [
      responseTo(to, { ...facts, result: {} }),
      errorTo(to, error, facts),
      progressFor(to, { progress: 1 }, facts),
      heartbeatTo(to, facts),
    ]) {
      const { type: _type, payload: _payload, metadata, ...rest } = reply;
      assert.deepEqual(rest, { version: "1.0", id: "r1", intent: "why", capability_id: "sum", actor_id: "a", context });
      assert.equal(metadata["execution_time_ms"], 12.5);
    }
  });

  test("has only the fields of its request, and the actor that was used", () => {
    const bare = { context: { trace_id: "own" } };
    assert.deepEqual(heartbeatTo(bare, { execution_time_ms: 0 }), {
      version: "1.0",
      type: "heartbeat",
      payload: {},
      context: { trace_id: "own" },
      metadata: { execution_time_ms: 0 },
    });
    assert.equal(responseTo(bare, { ...facts, actor_id: "sum:u", result: {} }).actor_id, "sum:u");
  });

  test("takes nothing else from a packet", () => {
    const packet = readPacket(
      '{"version":"1.0","type":"heartbeat","payload":{"a":1},"context":{},"metadata":{"b":1},"actor_options":{"persistence":"disk"}}',
    );
    assert.ok(!(packet instanceof PacketError));
    assert.deepEqual(Object.keys(heartbeatTo(packet, facts)), ["version", "type", "payload", "context", "metadata"]);
  });
});

describe("a response", () => {
  test("has the result as its payload, and cache_hit false", () => {
    const { type, payload, metadata } = responseTo(to, { ...facts, result: { sum: 3 } });
    assert.deepEqual(
      { type, payload, metadata },
      {
        type: "capability_response",
        payload: { sum: 3 },
        metadata: { execution_time_ms: 12.5, cache_hit: false },
      },
    );
  });

  test("of an actor has the number of applied messages instead #packet.implied.1-actor-reply", () => {
    assert.deepEqual(responseTo(to, { ...facts, result: {}, message_count: 0 }).metadata, { execution_time_ms: 12.5, message_count: 0 });
  });

  test("wraps a result that is not an object", () => {
    for (const result of ["text", 5, null, [1]]) assert.deepEqual(responseTo(to, { ...facts, result }).payload, { result });
  });
});

describe("an error", () => {
  const metadataOf = (error: PacketError) => errorTo(to, error, facts).metadata;

  test("has type, message and details, and its type as code", () => {
    const { type, payload, metadata } = errorTo(
      to,
      new PacketError("actor_timeout", "Too late.", { actor_id: "a", timeout_ms: 30_000 }),
      facts,
    );
    assert.deepEqual(
      { type, payload, metadata },
      {
        type: "capability_error",
        payload: { error: { type: "actor_timeout", message: "Too late.", details: { actor_id: "a", timeout_ms: 30_000 } } },
        metadata: { execution_time_ms: 12.5, error_code: "ACTOR_TIMEOUT" },
      },
    );
  });

  test("has a code for every type #packet.implied.2-execution", () => {
    for (const type of ERROR_TYPES) assert.match(JSON.stringify(metadataOf(new PacketError(type, "m"))["error_code"]), /^"[A-Z_]+"$/);
  });

  test("has the capability's own code, else the cause's, and nothing else of the cause", () => {
    const cause = new EngineError("WORK_TIMEOUT", "secret");
    const caused = new PacketError("execution_failed", "m", {}, { cause });
    assert.equal(metadataOf(caused)["error_code"], "WORK_TIMEOUT");
    assert.doesNotMatch(JSON.stringify(errorTo(to, caused, facts)), /secret/);
    assert.equal(metadataOf(new PacketError("execution_failed", "m", { code: "LOCKED" }, { cause }))["error_code"], "LOCKED");
    assert.equal(metadataOf(new PacketError("execution_failed", "m", {}, { cause: new Error("x") }))["error_code"], "EXECUTION_FAILED");
  });

  test("has retry_after in whole seconds, if known #packet.implied.2-rate", () => {
    const after = (details: ConstructorParameters<typeof PacketError>[2]) =>
      metadataOf(new PacketError("rate_limited", "m", details))["retry_after"];
    assert.equal(after({ limit: 1, used: 1, reset: 0.2 }), 1);
    assert.equal(after({ retry_after: 7, reset: 1 }), 7);
    assert.equal(after({ reset: -3 }), 0);
    assert.equal(after({ reset: "soon" }), undefined);
    assert.ok(!("retry_after" in metadataOf(new PacketError("no_handler", "m"))));
  });

  test("of an actor has the number of applied messages", () => {
    assert.equal(errorTo(to, new PacketError("actor_crash", "m"), { ...facts, message_count: 4 }).metadata["message_count"], 4);
  });

  test("answers a refused packet under its own id", () => {
    const refused = readPacket('{"version":"9","id":"r9","context":{"trace_id":"t9"}}');
    assert.ok(refused instanceof RefusedPacket);
    const reply = errorTo(refused.echo, refused, { execution_time_ms: 0 });
    assert.equal(reply.id, "r9");
    assert.deepEqual(reply.context, { trace_id: "t9" });
    assert.deepEqual(reply.metadata, { execution_time_ms: 0, error_code: "UNSUPPORTED_VERSION" });
  });
});

describe("progress", () => {
  test("has progress, and total and message if known", () => {
    assert.deepEqual(progressFor(to, { progress: 1 }, facts).payload, { progress: 1 });
    assert.deepEqual(progressFor(to, { progress: 1, total: 2, message: "half" }, facts).payload, {
      progress: 1,
      total: 2,
      message: "half",
    });
    assert.equal(progressFor(to, { progress: 1 }, facts).type, "capability_progress");
  });
});
