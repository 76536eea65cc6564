// Owns: the interface for counting, timing and tracing requests. Does not own: an implementation (hosts/telemetry).

import type { Bag } from "./json.ts";

/** A request of MCP, as it begins to be served. */
export interface ObservedRequest {
  readonly method: string;
  readonly id: string | number;
  readonly revision?: string;
  /** The tool or prompt it is for: the client's word, until the request has ended well. */
  readonly name?: string;
  /** The resource it is for: the client's word, too. */
  readonly uri?: string;
  /** Of one in a session. Not the session's id, which is a secret. */
  readonly session?: string;
  readonly peer?: string;
  /** The W3C trace context that came with it: `traceparent`, `tracestate`, `baggage`. */
  readonly trace?: Bag;
}

/** How a request ended without what was asked for. */
export interface ObservedFailure {
  /** `tool`: the result is a tool's that failed or refused. `cancelled`: nobody waits for an answer any more. */
  readonly kind: "error" | "tool" | "cancelled";
  /** Of an error, JSON-RPC's. */
  readonly code?: number;
  /** Of an error, as the client reads it. */
  readonly message?: string;
}

/** One request that is looked on. */
export interface Observation {
  /** The W3C trace context in which what is done for the request goes on: its actors are given it. Absent: the client's. */
  readonly trace?: Bag;
  /** Runs `act`, once and at once, as what is done for the request. */
  during<T>(act: () => T): T;
  /** It has been answered. Told once. */
  ended(failure?: ObservedFailure): void;
}

/**
 * Looks on while requests are served, to count, time or trace them: every request that is answered, but those that a door or the rate of
 * HTTP refuses before anybody reads them, and `subscriptions/listen`, which goes on. What an observer throws reaches no client.
 */
export interface Observer {
  begun(request: ObservedRequest): Observation;
  /** What there is just now may be asked for from now on, as often as somebody looks. Returns what ends that. */
  shows?(figures: () => Figures): () => void;
}

/** Of a gateway: `sessions` in memory, `connections`, open `streams`, `requests` that run. Of an engine: `actors` in memory, those that have `failed`, messages in its `outbox`, pages of its store that only the write-ahead log holds (`backlog`); `faults` and `slowTurns` since it began. */
export type Figure =
  | "sessions"
  | "connections"
  | "streams"
  | "requests"
  | "actors"
  | "failed"
  | "outbox"
  | "backlog"
  | "faults"
  | "slowTurns";

export type Figures = Readonly<Partial<Record<Figure, number>>>;
