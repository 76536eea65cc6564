// Owns: JSON Schemas of packets, for clients and documentation. Does not own: reading packets (read-packet.ts).
import type { JsonObject } from "../../core/contract/index.ts";
import type { CONTEXT_TEXTS } from "./read-packet.ts";
import {
  CONTEXT_BYTES,
  DEFAULT_PACKET_LIMITS,
  ERROR_TYPES,
  ID_BYTES,
  INTENT_BYTES,
  PACKET_VERSION,
  PERSISTENCES,
  REPLY_TYPES,
  REQUEST_TYPES,
  type RequestType,
  STATE_TIMEOUT_MS,
} from "./packet.ts";

const id = (description: string): JsonObject => ({
  type: "string",
  minLength: 1,
  maxLength: ID_BYTES,
  description: `${description} At most ${ID_BYTES} bytes of UTF-8.`,
});

const version: JsonObject = { const: PACKET_VERSION };

const CONTEXT: Readonly<Record<(typeof CONTEXT_TEXTS)[number], JsonObject>> = {
  user_id: id("Must be the authenticated principal, unless the connection may act as others."),
  session_id: id("What belongs together."),
  trace_id: id("Made up where it is absent; goes along with nested calls and into the history of actors."),
  timestamp: id("ISO 8601."),
};

const shared: JsonObject = {
  id: id("Tells replies apart where several requests are under way: every reply repeats it."),
  intent: { type: "string", maxLength: INTENT_BYTES, description: `For people. At most ${INTENT_BYTES} bytes of UTF-8.` },
  capability_id: id("What is asked."),
  actor_id: id("Which actor of the capability."),
  context: {
    type: "object",
    description: `Who asks, and within what; every reply repeats it whole. At most ${CONTEXT_BYTES} bytes as JSON without spaces.`,
    properties: CONTEXT,
  },
};

const whereType = (types: readonly RequestType[], then: JsonObject): JsonObject => ({
  if: { properties: { type: { enum: types } }, required: ["type"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word
  then,
});

/** Requires a member of that form in the payload. */
const payloadWith = (name: string, form: JsonObject): JsonObject => ({
  properties: { payload: { type: "object", properties: { [name]: form }, required: [name] } },
  required: ["payload"],
});

/**
 * JSON Schema (2020-12) of what a client sends. It accepts what `readPacket` accepts, apart from what a schema cannot express:
 * bounds in bytes (here in characters), valid UTF-8 without lone surrogates, unique member names, and the limits on size and depth.
 */
export const REQUEST_PACKET_SCHEMA: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: `urn:troupe:packet:${PACKET_VERSION}:request`,
  title: "PacketFlow request",
  description: `One packet that a client sends: UTF-8 text of at most ${DEFAULT_PACKET_LIMITS.bytes} bytes, nesting at most ${DEFAULT_PACKET_LIMITS.depth} levels deep, with at most ${DEFAULT_PACKET_LIMITS.values} values and ${DEFAULT_PACKET_LIMITS.members} members of one object. Fields that are not named here are ignored.`,
  type: "object",
  properties: {
    version,
    type: { enum: REQUEST_TYPES },
    ...shared,
    payload: { type: "object", description: "The input of the capability, or the message to the actor." },
    actor_options: {
      type: "object",
      description: "How an actor that is not there is to begin.",
      properties: {
        create_if_missing: { type: "boolean", default: true },
        state_timeout: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: STATE_TIMEOUT_MS,
          description: "Milliseconds without a message until it ends.",
        },
        persistence: { enum: PERSISTENCES },
      },
    },
    metadata: { type: "object" },
  },
  required: ["version", "type"],
  allOf: [
    whereType(["capability_request", "actor_message"], { properties: { capability_id: true }, required: ["capability_id"] }),
    whereType(["mcp_request"], payloadWith("mcp_message", { type: "object", description: "One JSON-RPC message." })),
    whereType(["cancel"], payloadWith("id", id("The request to end."))),
  ],
};

const replyOf = (type: (typeof REPLY_TYPES)[number], payload: JsonObject, metadata: JsonObject): JsonObject => ({
  if: { properties: { type: { const: type } }, required: ["type"] },
  // oxlint-disable-next-line unicorn/no-thenable -- JSON Schema's word
  then: { properties: { payload, metadata } },
});

const seconds: JsonObject = { type: "integer", minimum: 0, description: "Seconds." };
const count: JsonObject = { type: "integer", minimum: 0, description: "Messages that the actor has applied." };

/** JSON Schema (2020-12) of what the server sends. This server always sends `context` and `metadata`; they are optional here because others do not. */
export const REPLY_PACKET_SCHEMA: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: `urn:troupe:packet:${PACKET_VERSION}:reply`,
  title: "PacketFlow reply",
  description: "One packet that the server sends. Fields that are not named here may come with a later minor version: ignore them.",
  type: "object",
  properties: {
    version,
    type: { enum: REPLY_TYPES },
    ...shared,
    payload: { type: "object" },
    metadata: {
      type: "object",
      properties: { execution_time_ms: { type: "number", minimum: 0 } },
      required: ["execution_time_ms"],
    },
  },
  required: ["version", "type", "payload"],
  allOf: [
    replyOf(
      "capability_response",
      { type: "object" },
      { type: "object", properties: { cache_hit: { type: "boolean" }, message_count: count } },
    ),
    replyOf(
      "capability_error",
      {
        type: "object",
        properties: {
          error: {
            type: "object",
            properties: { type: { enum: ERROR_TYPES }, message: { type: "string" }, details: { type: "object" } },
            required: ["type", "message", "details"],
          },
        },
        required: ["error"],
      },
      {
        type: "object",
        properties: { error_code: { type: "string" }, message_count: count, retry_after: seconds },
        required: ["error_code"],
      },
    ),
    replyOf(
      "capability_progress",
      {
        type: "object",
        properties: { progress: { type: "number" }, total: { type: "number" }, message: { type: "string" } },
        required: ["progress"],
      },
      { type: "object" },
    ),
  ],
};
