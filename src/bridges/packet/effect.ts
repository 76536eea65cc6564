import type { JsonObject } from "../../core/contract/index.ts";

/** The level of an audit entry. Default `info`. */
export type AuditLevel = "debug" | "info" | "warning" | "error";

/** What is told once a capability has run, after the commit. Data: nothing happens by declaring it. */
export type Effect =
  | { readonly effect: "audit_log"; readonly level: AuditLevel; readonly name: string }
  | { readonly effect: "metric"; readonly metric: "counter" | "histogram"; readonly name: string };

/** An effect: each run writes an audit entry, after its commit. */
export const auditLog = (level: AuditLevel = "info", name = "audit"): Effect => ({ effect: "audit_log", level, name });
/** One for each run. */
export const counter = (name: string): Effect => ({ effect: "metric", metric: "counter", name });
/** The milliseconds of each run. */
export const histogram = (name: string): Effect => ({ effect: "metric", metric: "histogram", name });

/** An effect that happened. */
export interface Emitted {
  readonly effect: Effect;
  readonly capability_id: string;
  readonly actor_id?: string;
  readonly trace_id: string;
  readonly user_id?: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly duration_ms: number;
  /** Of a counter 1, of a histogram the duration. */
  readonly value: number;
  /** Absent: it succeeded. */
  readonly error?: string;
  readonly fields?: JsonObject;
}
