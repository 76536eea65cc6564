import type { Clock, Gateway, Log } from "../../core/contract/index.ts";
import type { FaultKind } from "../gateway/index.ts";
import type { Authenticator } from "./auth/index.ts";

export interface TcpLimits {
  /** The longest line taken, in bytes. Default 4 MiB; 64 KiB until the client has shown its token. */
  readonly lineBytes: number;
  /** All lines that have begun and not ended, together; of each what is beyond 16 KiB. Default 256 MiB. */
  readonly arrivingBytes: number;
  /** A line that was begun must end within this time. Default 30 s. */
  readonly lineMs: number;
  /** The first request must have come within this time, where a token is asked for. Default 5 s. */
  readonly tokenMs: number;
  /** A connection on which nothing happens either way is closed. Default an hour. */
  readonly idleMs: number;
  /** A client that reads nothing for this long is dropped. Default 30 s. */
  readonly blockedMs: number;
  /** Output a client has not read; more drops it. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Output that is not read, of all clients together; more drops who leaves most of it. Default 256 MiB. */
  readonly unreadBytes: number;
  /** Connections altogether. Default 10,000. */
  readonly connections: number;
  /** Connections of one peer beyond loopback. Default 64. */
  readonly connectionsPerPeer: number;
}

export const TCP_LIMITS: TcpLimits = {
  lineBytes: 4_194_304,
  arrivingBytes: 268_435_456,
  lineMs: 30_000,
  tokenMs: 5_000,
  idleMs: 3_600_000,
  blockedMs: 30_000,
  queuedBytes: 16_777_216,
  unreadBytes: 268_435_456,
  connections: 10_000,
  connectionsPerPeer: 64,
};

export interface TcpOptions {
  /** What frames go to. */
  readonly gateway: Pick<Gateway, "connect">;
  /** The line that tells a client why it is not served; `id` is of its first message. Default: a JSON-RPC error. */
  readonly refusal?: (kind: FaultKind, message: string, id: string | number | null) => string;
  /** Where a client is told to send its token. Default: `params._meta` of the first request. */
  readonly tokenPlace?: string;
  /** Default 127.0.0.1. Ignored with `path`. */
  readonly host?: string;
  /** Default 0: a free one. Ignored with `path`. */
  readonly port?: number;
  /** A Unix socket, readable and writable by its owner only. */
  readonly path?: string;
  /** The principal on a Unix socket. Default `local`. */
  readonly as?: string;
  /** Who may come in. Without it callers over TCP have no principal. On a Unix socket the file's mode decides. */
  readonly auth?: Authenticator;
  /** Beyond loopback without authentication, knowingly. */
  readonly insecure?: boolean;
  readonly limits?: Partial<TcpLimits>;
  readonly clock?: Clock;
  readonly log?: Log;
}

export interface TcpDoor extends AsyncDisposable {
  /** `tcp://127.0.0.1:4000` or `unix:/run/troupe.sock`. */
  readonly url: string;
  /** 0 for a Unix socket. */
  readonly port: number;
  /** Lets nobody in any more; connections end when what runs for them has, or after `graceMs` (default 5 s). */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}
