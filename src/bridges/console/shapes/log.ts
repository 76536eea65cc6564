// Owns: the JSON of what the server logged.

import type { ActorId, JsonObject } from "../../../core/contract/index.ts";

/** One row of `GET /log`, newest first. */
export interface LogRow {
  /** Grows. */
  readonly n: number;
  readonly at: number;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly event: string;
  readonly fields: JsonObject;
  /** The actor that its fields name. */
  readonly actor?: ActorId;
  /** The stable code of an error. */
  readonly code?: string;
  readonly principal?: string;
  readonly session?: string;
}

/** The event `log` of the stream: entries that are new, oldest first. */
export interface LogBatch {
  readonly items: readonly LogRow[];
  /** Older ones that are new, too: `GET /log` has them. */
  readonly more: number;
}
