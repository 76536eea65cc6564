// Owns: the form of an event in an actor's chain. Does not own: hashing, verifying and replaying it (core/chain).

import type { ActorId } from "./actor.ts";
import type { Json } from "./json.ts";

/**
 * `id` is the SHA-256 (hex) of `header`, which names the SHA-256 of `body`; both are stored as the text that was hashed. If the body is
 * erased, the chain still verifies (C7).
 */
export interface ChainEvent {
  readonly id: string;
  readonly header: string;
  readonly body?: string;
}

/** JSON, in exactly this order of keys. */
export interface Header {
  readonly actor: ActorId;
  /** UUID of this life of the actor: the same key started again is another life. */
  readonly life: string;
  /** From 1. */
  readonly seq: number;
  readonly parent: string | null;
  readonly at: number;
  /** The message's action, or `checkpoint`, `stop`, `fork`, `import`. */
  readonly type: string;
  readonly cause?: string;
  /** SHA-256 of the body's text. */
  readonly body: string;
}

/** Either `state` (whole) or `patch` (against the state before it); neither: the state is unchanged. */
export interface Body {
  readonly message: Json;
  readonly patch?: Json;
  readonly state?: Json;
  /** Version of the behaviour's state. */
  readonly version: number;
  /** Ids of the messages that left with this event. */
  readonly sent: readonly string[];
  readonly reply?: Json;
  readonly record?: Json;
}

/** Stands in events and logs where an argument or a record was secret. */
export const REDACTED = "[redacted]";
