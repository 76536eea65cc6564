// Owns: the JSON of sessions, tasks, and messages of clients.

import type { ActorId, TaskReport } from "../../../core/contract/index.ts";
import type { PageOf } from "./answers.ts";
import type { CausedEvent } from "./events.ts";
import type { ClientLatency } from "./overview.ts";
import type { ViewerShape } from "./surfaces.ts";

/** `GET /sessions` */
export interface SessionRow extends ClientLatency {
  /** Not the session's id, which is a secret. */
  readonly name: string;
  readonly client?: string;
  readonly revision: string;
  readonly principal?: string;
  readonly peer?: string;
  /** The actor that it changed last. */
  readonly actor?: ActorId;
  readonly startedAt: number;
  readonly lastAt: number;
  readonly streams: number;
  readonly requests: number;
  readonly errors: number;
  readonly subscriptions: readonly string[];
}

/** `GET /tasks` */
export interface TaskRow extends TaskReport {
  /** As in MCP, or `lost`: it ran when its process ended, so whether it was applied is not known. */
  readonly status: string;
  /** Of a process before this one. */
  readonly earlier?: true;
}

/** One request, notification or response: `GET /traffic?after=&method=&session=&search=`, and the event `traffic` of the stream. */
export interface TrafficRow {
  /** Grows; the newest 2,000 are stored. */
  readonly n: number;
  readonly at: number;
  readonly transport: "http" | "stdio" | "tcp" | "memory" | "packets-http" | "packets-websocket" | "packets-tcp";
  /** Absent: packets, which have no sessions. */
  readonly era?: "legacy" | "modern";
  readonly direction: "in" | "out";
  readonly session?: string;
  readonly client?: string;
  readonly principal?: string;
  readonly peer?: string;
  /** Of a packet: its type. */
  readonly method: string;
  /** The tool, prompt or URI; the capability. */
  readonly name?: string;
  /** The actor that its call reached. Absent: it called none, or that is unknown. */
  readonly actor?: ActorId;
  /** Absent while it runs, and of notifications. */
  readonly ms?: number;
  /** Of `ms`, how long the call waited in the actor's mailbox. Absent: it was not measured. */
  readonly waitedMs?: number;
  /** Of `ms`, how long its turn or work took, with the commit. */
  readonly ranMs?: number;
  readonly requestBytes: number;
  readonly responseBytes?: number;
  readonly status: "running" | "ok" | "error" | "tool-error" | "cancelled" | "notification";
  /** The number of a JSON-RPC error; a packet's error has none. */
  readonly error?: { readonly code?: number; readonly message: string };
  /** The stable code of a refusal or fault, such as `NOT_NOW`. */
  readonly code?: string;
  /** The events that it caused, at most 20. Those that followed from them are in their causes. */
  readonly events?: readonly CausedEvent[];
}

/** `GET /traffic`: newest first. */
export interface TrafficPage extends PageOf<TrafficRow> {
  /** Messages since the start that were not recorded: more than 500 a second came. */
  readonly skipped: number;
  /** The sessions and clients, and the principals, of all messages that are recorded. */
  readonly sessions: readonly string[];
  readonly principals: readonly string[];
}

/** The event `traffic` of the stream: rows that are new or have changed. A row that ends comes again, with the same `n`. */
export interface TrafficBatch {
  readonly items: readonly TrafficRow[];
  /** Others that are new or have changed. */
  readonly more: number;
}

/** `GET /traffic/:n` */
export interface TrafficDetail extends TrafficRow {
  /** Secrets are replaced by `[hidden]`. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly request: string;
  readonly requestCut?: true;
  readonly responseStatus?: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Messages in the order in which they were sent; a long one is cut. */
  readonly responses: readonly { readonly at: number; readonly text: string; readonly cut?: true }[];
}

/** `GET /callers`: a principal that has called, with its scopes and claims as they were then. */
export interface SeenCaller extends ViewerShape {
  readonly principal: string;
  readonly lastAt: number;
}
