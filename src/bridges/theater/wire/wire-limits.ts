import { VALUE_LIMITS } from "../../../core/contract/internal.ts";

const MIB = 1_048_576;

/** What one connection may make us hold. */
export interface WireLimits {
  /** The longest frame, its length not counted, taken and sent. Default 32 MiB, which is what Theater's own codec takes. */
  readonly frameBytes: number;
  /** The longest message put together from fragments, and all that wait to be. Default 64 MiB. */
  readonly messageBytes: number;
  /** Of one message. Default 1,024. */
  readonly fragments: number;
  /** Messages of which a part has come. Default 16. */
  readonly partials: number;
  /** A message whose parts do not all come in this time is dropped. Default 30 s. */
  readonly partialMs: number;
  /** Of lists and objects in each other. Default 32. */
  readonly depth: number;
  /** In one message, a list of bytes counted as one. Default 1,000,000 in what a server answers, 100,000 in what a client sends. */
  readonly values: number;
  /** Of one object. Default 10,000. */
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
