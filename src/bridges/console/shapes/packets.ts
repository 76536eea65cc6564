// Owns: the JSON of capabilities behind packets.

import type { ActorId, JsonObject } from "../../../core/contract/index.ts";

/** One row of `GET /packets/capabilities`. */
export interface CapabilityRow {
  readonly id: string;
  readonly intent: string;
  /** Fields that its payload must have. */
  readonly requires: readonly string[];
  /** Fields that its result has. */
  readonly provides: readonly string[];
  readonly runs: "function" | "actor" | "tools";
  /** What is recorded of each run, such as `counter words.counted`. */
  readonly effects: readonly string[];
  /** JSON Schema of its payload. */
  readonly parameters?: JsonObject;
  /** Of its actors. */
  readonly kind?: string;
  /** Its actors are everyone's. Otherwise each is its starter's. */
  readonly shared?: boolean;
  readonly persistence?: string;
  /** Actors that have not stopped. */
  readonly actors?: number;
  /** Fields whose text is searchable: `payload:text`. */
  readonly searchable?: readonly string[];
  /** Of another MCP server. */
  readonly tools?: readonly string[];
}

/** `GET /packets/plan`: capabilities in the order in which they run. */
export interface PlanShape {
  /** Absent: these capabilities do not lead there. */
  readonly steps?: readonly { readonly capability_id: string; readonly takes: readonly string[]; readonly gives: readonly string[] }[];
}

/** One row of `GET /packets/search`: an event in which all the words are. */
export interface SearchHit {
  readonly actor: ActorId;
  readonly seq: number;
  /** The event's id. */
  readonly event: string;
  readonly at: number;
  /** `payload:text`, `result:notes.*.text` */
  readonly field: string;
  readonly snippet: string;
  /** Of the best 1, of others less. */
  readonly score: number;
}
