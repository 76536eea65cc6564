import type { JsonObject } from "../../core/contract/index.ts";

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
