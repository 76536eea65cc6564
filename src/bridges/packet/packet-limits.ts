import { VALUE_LIMITS } from "../../core/contract/internal.ts";

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
