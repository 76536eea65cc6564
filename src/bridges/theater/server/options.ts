// Owns: the options and limits of Theater's server. Does not own: listening (serve-theater.ts).
import type { Clock, Entropy, Log } from "../../../core/contract/index.ts";
import { VALUE_LIMITS } from "../../../core/contract/internal.ts";
import type { TheaterStage } from "../stage.ts";
import { WIRE_LIMITS, type WireLimits } from "../wire/codec.ts";

export interface TheaterLimits extends WireLimits {
  /** Connections in total. Default 256. */
  readonly connections: number;
  /** Subscriptions of one connection, including actors started as their parent. Default 256. */
  readonly subscriptions: number;
  /** Channels of one connection. Default 256. */
  readonly channels: number;
  /** Commands queued on one connection; more are not read. Default 16. */
  readonly waiting: number;
  /** A request that is not answered within this time fails with `Timeout`. Default 300 s. */
  readonly requestMs: number;
  /** A frame must be complete within this time. Default 60 s. */
  readonly frameMs: number;
  /** A client that reads nothing for this long is disconnected. Default 60 s. */
  readonly blockedMs: number;
  /** Pushes waiting for a client that does not read; with more it is disconnected. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Actors listed at once. Default 200,000. */
  readonly listed: number;
}

/** Options of `serveTheater`. */
export interface TheaterOptions {
  readonly stage: TheaterStage;
  /** Default 127.0.0.1. Ignored with `path`. */
  readonly host?: string;
  /** Default 0: any free port. Theater's own is 9000. Ignored with `path`. */
  readonly port?: number;
  /** A Unix socket, readable and writable by its owner only. */
  readonly path?: string;
  /** Permits listening beyond loopback: anyone who reaches the port may start, stop and read every actor. */
  readonly insecure?: boolean;
  readonly limits?: Partial<TheaterLimits>;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  readonly log?: Log;
}

/** A running server of Theater's protocol. */
export interface TheaterListener extends AsyncDisposable {
  /** `tcp://127.0.0.1:9000` or `unix:/run/theater.sock`. */
  readonly url: string;
  /** 0 for a Unix socket. */
  readonly port: number;
  /** Stops listening. Connections end when their commands are answered, or after `graceMs` (default 5 s). Actors keep running. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export const THEATER_LIMITS: TheaterLimits = {
  ...WIRE_LIMITS,
  values: VALUE_LIMITS.values,
  connections: 256,
  subscriptions: 256,
  channels: 256,
  waiting: 16,
  requestMs: 300_000,
  frameMs: 60_000,
  blockedMs: 60_000,
  queuedBytes: 16 * 1_048_576,
  listed: 200_000,
};
