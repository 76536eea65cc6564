import { type Json, type JsonObject, isJsonObject } from "../../core/contract/index.ts";
import { VALUE_LIMITS } from "../../core/contract/internal.ts";

/** The version of the wire format. */
export const PACKET_VERSION = "1.0";

/** What a client sends. */
export const REQUEST_TYPES = ["capability_request", "actor_message", "mcp_request", "heartbeat", "cancel"] as const;
/** What it is answered. A heartbeat is answered with a heartbeat. */
export const REPLY_TYPES = ["capability_response", "capability_error", "capability_progress", "heartbeat"] as const;

/** The `type` of a packet from a client. */
export type RequestType = (typeof REQUEST_TYPES)[number];
/** The `type` of a packet from the server. */
export type ReplyType = (typeof REPLY_TYPES)[number];

/** Who asks, and within what. What else is in it is echoed. */
export interface PacketContext {
  /** Must be the authenticated principal, unless the connection may act as others. */
  readonly user_id?: string;
  readonly session_id?: string;
  /** Made up where it is absent; goes along with nested calls and into the chain. */
  readonly trace_id?: string;
  /** ISO 8601. */
  readonly timestamp?: string;
  readonly [more: string]: Json | undefined;
}

/** How an actor that is not there is to begin. */
export interface ActorOptions {
  /** False: `actor_not_found`. Default true. */
  readonly create_if_missing?: boolean;
  /** Milliseconds without a message until it ends, for an actor that begins. */
  readonly state_timeout?: number;
  /** For an actor that begins. */
  readonly persistence?: Persistence;
}

/** Where a capability's actors store their state. */
export type Persistence = "memory" | "disk" | "distributed";

/** A packet as it was read: of the right form, nothing more. Unknown fields are ignored. */
export interface RequestPacket {
  readonly version: string;
  readonly type: RequestType;
  /** Echoed in every reply: tells replies apart where several requests are under way. */
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

export const PERSISTENCES = ["memory", "disk", "distributed"] as const satisfies readonly Persistence[];

/** Bounds of one packet as text. */
export interface PacketLimits {
  /** Of its UTF-8. Default 1 MiB. */
  readonly bytes: number;
  /** Objects and arrays inside one another, the packet itself included. Default 64. */
  readonly depth: number;
  /** Values in the packet, lists and objects included. Default 100,000. */
  readonly values: number;
  /** Members of one object. Default 10,000. */
  readonly members: number;
}

/** The default bounds of one packet: 1 MiB and 64 levels, with the bounds on values of all JSON input. */
export const DEFAULT_PACKET_LIMITS: PacketLimits = { bytes: 1_048_576, depth: 64, ...VALUE_LIMITS };

/** In bytes of UTF-8: of `id`, `capability_id`, `actor_id`, what a `cancel` names, and the texts of `context` that have a meaning. */
export const ID_BYTES = 256;
/** In bytes of UTF-8. */
export const INTENT_BYTES = 4_096;
/** Of `context` as JSON without spaces, in bytes: every reply and every word of progress carries it. */
export const CONTEXT_BYTES = 16_384;
/** A hundred years: what is added to now is still a date. */
export const STATE_TIMEOUT_MS = 3_155_760_000_000;

/** The closed list of what can go wrong. */
export const ERROR_TYPES = [
  /** No packet: `details.issues`. */
  "protocol_error",
  "unsupported_version",
  "unknown_type",
  "capability_not_found",
  "actor_not_found",
  /** `details`: limit, used. */
  "actor_limit_exceeded",
  /** No reply in time: `details.actor_id`, `details.timeout_ms`. */
  "actor_timeout",
  /** The message failed and changed nothing; the actor goes on from its last durable state. */
  "actor_crash",
  /** `details.missing`: fields the capability requires; or `details.issues`. */
  "validation_failed",
  /** `details.missing`: fields the capability promised. Our fault, not the caller's. */
  "contract_violation",
  "no_handler",
  "unauthorized",
  /** `details`: limit, used, reset (seconds). */
  "rate_limited",
  /** What the capability itself said, or a crash of one without an actor. */
  "execution_failed",
  "persistence_failed",
  "cancelled",
] as const;

/** The `type` of an error packet. */
export type PacketErrorType = (typeof ERROR_TYPES)[number];

/** What a capability answers that it could not do. */
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

/** What a `capability_error` says. A type this version does not know is `execution_failed`, and itself in `details.type`. */
export function errorIn({ payload }: ReplyPacket): PacketError {
  const { type, message, details } = isJsonObject(payload["error"]) ? payload["error"] : {};
  const known = ERROR_TYPES.find((one) => one === type);
  return new PacketError(known ?? "execution_failed", typeof message === "string" ? message : "The server did not say why.", {
    ...(known === undefined && type !== undefined ? { type } : undefined),
    ...(isJsonObject(details) ? details : undefined),
  });
}
