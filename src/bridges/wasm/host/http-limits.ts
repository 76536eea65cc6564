import type { LookupFunction } from "node:net";

export interface HttpLimits {
  /** Loopback and private addresses too: for tests, and for operators who know what is there. Default false. */
  readonly allowPrivate?: boolean;
  /** How names become addresses. Default the system's. */
  readonly lookup?: LookupFunction;
  /** Of a request's body and of a response's, each. Default 4 MiB. */
  readonly maxBytes?: number;
  /** From the request to the response's end, in milliseconds. Default 30 s. */
  readonly timeoutMs?: number;
}
