// The published schemas agree with the reader and the builders of packets.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import type { JsonObject, Json } from "../../core/contract/index.ts";
import { PacketError } from "./packet.ts";
import { REPLY_PACKET_SCHEMA, REQUEST_PACKET_SCHEMA } from "./packet-schema.ts";
import { anyMutant, anyRequest, SPECIFIED } from "./packets.fixture.ts";
import { readPacket } from "./read-packet.ts";
import { errorTo, heartbeatTo, progressFor, responseTo } from "./reply.ts";

const ajv = new Ajv2020({ strict: true, strictTypes: true, allErrors: true });
const isRequest = ajv.compile(REQUEST_PACKET_SCHEMA);
const isReply = ajv.compile(REPLY_PACKET_SCHEMA);

const bytes = (value: Json | undefined): number => Buffer.byteLength(typeof value === "string" ? value : "");
const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : {};

/** Limits that a schema cannot express. */
function keepsToBytes(value: Json): boolean {
  const { id, intent, capability_id, actor_id, context, payload, type } = objectOf(value);
  const { user_id, session_id, trace_id, timestamp } = objectOf(context);
  const ids = [
    id,
    capability_id,
    actor_id,
    user_id,
    session_id,
    trace_id,
    timestamp,
    ...(type === "cancel" ? [objectOf(payload)["id"]] : []),
  ];
  return ids.every((text) => bytes(text) <= 256) && bytes(intent) <= 4_096 && bytes(JSON.stringify(context ?? {})) <= 16_384;
}

function agree(text: string): { readonly accepted: boolean } {
  const value: Json = JSON.parse(text);
  const read = readPacket(text);
  const accepted = !(read instanceof PacketError);
  assert.equal(
    accepted,
    isRequest(value) && keepsToBytes(value),
    read instanceof PacketError ? read.message : ajv.errorsText(isRequest.errors),
  );
  return { accepted };
}

describe("the schema of requests", () => {
  test("agrees with the reader on packets, and both accept most of them", () => {
    let accepted = 0;
    fc.assert(
      fc.property(anyRequest, (packet) => void (accepted += Number(agree(JSON.stringify(packet)).accepted))),
      { numRuns: 1_000 },
    );
    assert.ok(accepted > 300 && accepted < 1_000, String(accepted));
  });

  test("agrees with the reader on mutants, and both accept some and refuse some #packet.doors.schema", () => {
    let accepted = 0;
    fc.assert(
      fc.property(anyMutant, (value) => void (accepted += Number(agree(JSON.stringify(value)).accepted))),
      { numRuns: 4_000 },
    );
    assert.ok(accepted > 300 && accepted < 3_000, String(accepted));
  });

  test("agrees with the reader on any JSON", () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 3 }).map((text) => JSON.stringify(JSON.parse(text)).toWellFormed()),
        (text) => void agree(text),
      ),
      { numRuns: 300 },
    );
  });

  test("accepts the requests of the specification, as the reader does #packet.message.actor", () => {
    for (const packet of SPECIFIED.requests) {
      assert.ok(isRequest(packet), ajv.errorsText(isRequest.errors));
      assert.deepEqual(readPacket(JSON.stringify(packet)), packet);
    }
  });

  test("refuses packets that only a server sends", () => {
    for (const packet of SPECIFIED.replies) assert.ok(!isRequest(packet));
  });
});

describe("the schema of replies", () => {
  const facts = { execution_time_ms: 1.5, trace_id: "t" };

  test("accepts the reply of the specification, and refuses its requests", () => {
    for (const packet of SPECIFIED.replies) assert.ok(isReply(packet), ajv.errorsText(isReply.errors));
    for (const packet of SPECIFIED.requests) assert.ok(!isReply(packet));
  });

  test("accepts every reply to every packet and to every refusal", () => {
    fc.assert(
      fc.property(anyMutant, fc.jsonValue(), fc.option(fc.nat(), { nil: undefined }), (value, result, message_count) => {
        const read = readPacket(JSON.stringify(value));
        const to = read instanceof PacketError ? read.echo : read;
        const ran = { ...facts, ...(message_count === undefined ? {} : { message_count }) };
        const error = read instanceof PacketError ? read : new PacketError("rate_limited", "Later.", { limit: 1, used: 1, reset: 0.2 });
        for (const reply of [
          responseTo(to, { ...ran, result: JSON.parse(JSON.stringify(result)) }),
          errorTo(to, error, ran),
          progressFor(to, { progress: 1, total: 2, message: "half" }, ran),
          heartbeatTo(to, ran),
        ])
          assert.ok(isReply(JSON.parse(JSON.stringify(reply))), ajv.errorsText(isReply.errors));
      }),
      { numRuns: 500 },
    );
  });

  const error = { type: "no_handler", message: "m", details: {} };
  for (const [what, packet] of Object.entries<JsonObject>({
    "another version": { version: "1.1", type: "heartbeat", payload: {} },
    "a type of requests": { version: "1.0", type: "cancel", payload: {} },
    "no payload": { version: "1.0", type: "heartbeat" },
    "an error without its error": { version: "1.0", type: "capability_error", payload: {} },
    "an error of no known type": { version: "1.0", type: "capability_error", payload: { error: { ...error, type: "oops" } } },
    "an error without a code": { version: "1.0", type: "capability_error", payload: { error }, metadata: { execution_time_ms: 1 } },
    "a wait in fractions": {
      version: "1.0",
      type: "capability_error",
      payload: { error },
      metadata: { execution_time_ms: 1, error_code: "X", retry_after: 0.5 },
    },
    "progress without a figure": { version: "1.0", type: "capability_progress", payload: {} },
    "metadata without a time": { version: "1.0", type: "heartbeat", payload: {}, metadata: {} },
  }))
    test(`refuses ${what}`, () => assert.ok(!isReply(packet)));
});
