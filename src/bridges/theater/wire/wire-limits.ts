import { VALUE_LIMITS } from "../../../core/contract/internal.ts";

const MIB = 1_048_576;

/** Limits of what one connection may make us hold. */
export interface WireLimits {
  /** The longest frame sent or received, without its length prefix. Default 32 MiB, as in Theater's own codec. */
  readonly frameBytes: number;
  /** The longest message assembled from fragments, and the total of incomplete ones. Default 64 MiB. */
  readonly messageBytes: number;
  /** Fragments of one message. Default 1,024. */
  readonly fragments: number;
  /** Incomplete messages. Default 16. */
  readonly partials: number;
  /** An incomplete message is dropped after this time. Default 30 s. */
  readonly partialMs: number;
  /** Nesting of lists and objects. Default 32. */
  readonly depth: number;
  /** Values of one message; a list of bytes counts as one. Default 1,000,000 in answers, 100,000 in commands. */
  readonly values: number;
  /** Members of one object. Default 10,000. */
  readonly members: number;
}

export const WIRE_LIMITS: WireLimits = {
  frameBytes: 32 * MIB,
  messageBytes: 64 * MIB,
  fragments: 1_024,
  partials: 16,
  partialMs: 30_000,
  depth: 32,
  values: 1_000_000,
  members: VALUE_LIMITS.members,
};
