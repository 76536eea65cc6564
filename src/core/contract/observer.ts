// Owns: the interface for counting, timing and tracing requests. Does not own: an implementation (hosts/telemetry).

import type { JsonObject } from "./json.ts";

/** An MCP request when it begins to be served. */
export interface ObservedRequest {
  readonly method: string;
  readonly id: string | number;
  readonly revision?: string;
  /** The tool or prompt it names; not verified until the request has succeeded. */
  readonly name?: string;
  /** The resource it names; not verified either. */
  readonly uri?: string;
  /** Identifies the session, if there is one. Not the session's id, which is a secret. */
  readonly session?: string;
  readonly peer?: string;
  /** The W3C trace context that came with it: `traceparent`, `tracestate`, `baggage`. */
  readonly trace?: JsonObject;
}

/** How a request failed. */
export interface ObservedFailure {
  /** `tool`: a tool failed or refused. `cancelled`: the client no longer waits for an answer. */
  readonly kind: "error" | "tool" | "cancelled";
  /** The JSON-RPC code of an error. */
  readonly code?: number;
  /** The message of an error, as the client receives it. */
  readonly message?: string;
}

/** One observed request. */
export interface Observation {
  /** The W3C trace context for the work of this request, passed to its actors. Absent: the client's. */
  readonly trace?: JsonObject;
  /** Runs `act` once, synchronously, as part of the request. */
  during<T>(act: () => T): T;
  /** The request was answered. Called once. */
  ended(failure?: ObservedFailure): void;
}

/**
 * Observes requests, to count, time or trace them: every request that is answered, except those that a transport or the HTTP rate limit
 * refuses unread, and `subscriptions/listen`, which does not end. An observer's errors reach no client.
 */
export interface Observer {
  /** Absent: it observes figures only, and requests cost nothing more. */
  begun?(request: ObservedRequest): Observation;
  /** Offers a function that returns the current figures, to be called as often as needed. Returns its undo. */
  shows?(figures: () => Figures): () => void;
}

/**
 * Of a gateway: `sessions` in memory, `connections`, open `streams`, running `requests`. Of an engine: `actors` in memory, `failed`
 * actors, messages in its `outbox`, pages of its store that only the write-ahead log has (`backlog`), `faults` and `slowTurns` since its
 * start.
 */
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

/** Figures of an engine or a gateway, by name. What it does not know is absent. */
export type Figures = Readonly<Partial<Record<Figure, number>>>;

/** One observer for several. Each sees every request, and the first that has a trace passes it to the actors. */
export function observers(...all: readonly (Observer | undefined)[]): Observer | undefined {
  const [first, second, ...rest] = all.filter((one) => one !== undefined);
  if (first === undefined || second === undefined) return first;
  const others = observers(second, ...rest) ?? second;
  return { ...begunBy(first, others), shows: (figures) => undoBoth(first.shows?.(figures), others.shows?.(figures)) };
}

const undoBoth = (one: (() => void) | undefined, other: (() => void) | undefined) => (): void => {
  one?.();
  other?.();
};

function begunBy(one: Observer, other: Observer): Pick<Observer, "begun"> {
  if (one.begun === undefined) return other.begun === undefined ? {} : { begun: other.begun.bind(other) };
  if (other.begun === undefined) return { begun: one.begun.bind(one) };
  const [first, second] = [one.begun.bind(one), other.begun.bind(other)];
  return { begun: (request) => both(first(request), second(request)) };
}

function both(one: Observation, other: Observation): Observation {
  const trace = one.trace ?? other.trace;
  return {
    ...(trace === undefined ? undefined : { trace }),
    during: (act) => one.during(() => other.during(act)),
    ended(failure) {
      try {
        one.ended(failure);
      } finally {
        other.ended(failure);
      }
    },
  };
}
