// Owns: the wire format of packets: types, limits and errors. Does not own: reading and writing them (read-packet.ts, reply.ts).
import { type Json, type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { VALUE_LIMITS } from "../../core/contract/internal.ts";

/** The version of the wire format. */
export const PACKET_VERSION = "1.0";

/** Types of packets from a client. */
export const REQUEST_TYPES = ["capability_request", "actor_message", "mcp_request", "heartbeat", "cancel"] as const;
/** Types of packets from the server. A heartbeat is answered with a heartbeat. */
export const REPLY_TYPES = ["capability_response", "capability_error", "capability_progress", "heartbeat"] as const;

/** The `type` of a packet from a client. */
export type RequestType = (typeof REQUEST_TYPES)[number];
/** The `type` of a packet from the server. */
export type ReplyType = (typeof REPLY_TYPES)[number];

/** The caller and its context. Other members are echoed. */
export interface PacketContext {
  /** Must be the authenticated principal, unless the connection may act for others. */
  readonly user_id?: string;
  readonly session_id?: string;
  /** Generated if absent. Passed on to nested calls and into the chain. */
  readonly trace_id?: string;
  /** ISO 8601. */
  readonly timestamp?: string;
  readonly [more: string]: Json | undefined;
}

/** How to start an actor that does not exist. */
export interface ActorOptions {
  /** False: refused with `actor_not_found`. Default true. */
  readonly create_if_missing?: boolean;
  /** Milliseconds without a message until the started actor ends. */
  readonly state_timeout?: number;
  /** Where the started actor is stored. */
  readonly persistence?: Persistence;
}

export const PERSISTENCES = ["memory", "disk", "distributed"] as const;
/** Where a capability's actors store their state. */
export type Persistence = (typeof PERSISTENCES)[number];

/** A packet with valid fields. Its capability may not exist. Unknown fields are ignored. */
export interface RequestPacket {
  readonly version: string;
  readonly type: RequestType;
  /** Echoed in every reply, to match replies with concurrent requests. */
  readonly id?: string;
  readonly intent?: string;
  readonly capability_id?: string;
  readonly actor_id?: string;
  readonly payload: JsonObject;
  readonly context: PacketContext;
  readonly actor_options?: ActorOptions;
  readonly metadata?: JsonObject;
}

/** A packet from the server, in the wire format of version 1.0. */
export interface ReplyPacket {
  readonly version: typeof PACKET_VERSION;
  readonly type: ReplyType;
  readonly id?: string;
  readonly intent?: string;
  readonly capability_id?: string;
  readonly actor_id?: string;
  readonly payload: JsonObject;
  readonly context: PacketContext;
  readonly metadata: JsonObject;
}

/** The subprotocol of packets over WebSocket. */
export const PACKET_PROTOCOL = "packetflow.v1";

/** Limits of one packet as text. */
export interface PacketLimits {
  /** Bytes of UTF-8. Default 1 MiB. */
  readonly bytes: number;
  /** Nesting of objects and arrays, the packet itself included. Default 64. */
  readonly depth: number;
  /** Values in the packet, lists and objects included. Default 100,000. */
  readonly values: number;
  /** Members of one object. Default 10,000. */
  readonly members: number;
}

/** The default limits of one packet: 1 MiB and 64 levels, with the limits on values of all JSON input. */
export const DEFAULT_PACKET_LIMITS: PacketLimits = { bytes: 1_048_576, depth: 64, ...VALUE_LIMITS };

/** Bytes of UTF-8 in `id`, `capability_id`, `actor_id`, the id in a `cancel`, and the known texts of `context`. */
export const ID_BYTES = 256;
/** Bytes of UTF-8. */
export const INTENT_BYTES = 4_096;
/** Bytes of `context` as compact JSON: every reply and progress packet repeats it. */
export const CONTEXT_BYTES = 16_384;
/** The idle timeout of actors if neither their definition nor the configuration has one. */
export const DEFAULT_IDLE_MS = 30 * 60_000;
/** A hundred years: added to the current time, it is still a valid date. */
export const STATE_TIMEOUT_MS = 3_155_760_000_000;

/** All error types. */
export const ERROR_TYPES = [
  /** Not a packet: `details.issues`. */
  "protocol_error",
  "unsupported_version",
  "unknown_type",
  "capability_not_found",
  "actor_not_found",
  /** `details`: limit, used. */
  "actor_limit_exceeded",
  /** No reply in time: `details.actor_id`, `details.timeout_ms`. */
  "actor_timeout",
  /** The message failed and changed nothing; the actor continues from its last durable state. */
  "actor_crash",
  /** `details.missing`: fields that the capability requires; or `details.issues`. */
  "validation_failed",
  /** `details.missing`: fields that the capability promised. The server's fault, not the caller's. */
  "contract_violation",
  "no_handler",
  "unauthorized",
  /** `details`: limit, used, reset (seconds). */
  "rate_limited",
  /** The capability's own error, or a crash of one without an actor. */
  "execution_failed",
  "persistence_failed",
  "cancelled",
] as const;

/** The `type` of an error packet. */
export type PacketErrorType = (typeof ERROR_TYPES)[number];

/** The error of a capability or of the packet protocol. */
export class PacketError extends Error {
  override readonly name = "PacketError";
  readonly type: PacketErrorType;
  readonly details: JsonObject;
  constructor(type: PacketErrorType, message: string, details: JsonObject = {}, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.type = type;
    this.details = details;
  }
}

/** The error in a `capability_error` packet. A type that this version does not know becomes `execution_failed`, with the type in `details.type`. */
export function errorIn({ payload }: ReplyPacket): PacketError {
  const { type, message, details } = isJsonObject(payload["error"]) ? payload["error"] : {};
  const known = ERROR_TYPES.find((one) => one === type);
  return new PacketError(known ?? "execution_failed", typeof message === "string" ? message : "The server did not say why.", {
    ...(known === undefined && type !== undefined ? { type } : undefined),
    ...(isJsonObject(details) ? details : undefined),
  });
}
