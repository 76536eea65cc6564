import type { JsonObject, Json } from "../../core/contract/index.ts";

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
