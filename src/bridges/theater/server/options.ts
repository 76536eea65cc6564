import type { Clock, Entropy, Log } from "../../../core/contract/index.ts";
import type { TheaterStage } from "../theater-stage.ts";
import type { WireLimits } from "../wire/index.ts";

export interface TheaterLimits extends WireLimits {
  /** Connections altogether. Default 256. */
  readonly connections: number;
  /** Subscriptions, actors started as their parent included, of one connection. Default 256. */
  readonly subscriptions: number;
  /** Channels of one connection. Default 256. */
  readonly channels: number;
  /** Commands that wait for those before them on their connection; more are not read. Default 16. */
  readonly waiting: number;
  /** A request an actor does not answer in this time is a `Timeout`. Default 300 s. */
  readonly requestMs: number;
  /** A frame that was begun must end within this time. Default 60 s. */
  readonly frameMs: number;
  /** A client that reads nothing for this long is dropped. Default 60 s. */
  readonly blockedMs: number;
  /** What was pushed to a client that does not read; more drops it. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Actors listed at once. Default 200,000. */
  readonly listed: number;
}

/** What `serveTheater` takes. */
export interface TheaterOptions {
  readonly stage: TheaterStage;
  /** Default 127.0.0.1. Ignored with `path`. */
  readonly host?: string;
  /** Default 0: a free one; Theater's own is 9000. Ignored with `path`. */
  readonly port?: number;
  /** A Unix socket, readable and writable by its owner only. */
  readonly path?: string;
  /** Beyond loopback, knowingly: whoever reaches the port may start, stop and read every actor. */
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
  /** Lets nobody in any more; connections end when their commands are answered, or after `graceMs` (default 5 s). Actors go on. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
