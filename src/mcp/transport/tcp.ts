// Owns: the listening TCP or Unix socket, its options and limits. Does not own: one client (tcp-connection.ts).
import { createServer } from "node:net";
import {
  boundsOf,
  type Caller,
  checkOptions,
  type Clock,
  FUNCTION,
  type Gateway,
  type Log,
  type OptionTable,
  TEXTS,
  systemClock,
} from "../../core/contract/index.ts";
import type { FaultKind } from "../gateway/index.ts";
import { AUTH, type Authenticator, refuseUnaddressed } from "./auth/index.ts";
import { UploadBudget, ConnectionsPerPeer, UnreadBudget } from "./budgets.ts";
import type { LineChannel } from "./lines.ts";
import { authority, isLoopback, listenAt, listenAtPath, refuseOpenListener } from "./listen.ts";
import { type TcpConnection, tcpConnection } from "./tcp-connection.ts";
import { rateLimitedLog } from "../../core/contract/internal.ts";
import { TickBatcher } from "./tick-batcher.ts";

/** Bounds of a TCP listener. Sizes in bytes, times in milliseconds. */
export interface TcpLimits {
  /** The longest line accepted, in bytes. Default 4 MiB; 64 KiB until the client has sent its token. */
  readonly lineBytes: number;
  /** Limit for all incomplete lines together, in bytes; the first 16 KiB of each are not counted. Default 256 MiB. */
  readonly arrivingBytes: number;
  /** A line must end within this time after its first byte. Default 30 s. */
  readonly lineMs: number;
  /** With authentication, the first request must arrive within this time. Default 5 s. */
  readonly tokenMs: number;
  /** A connection without traffic in either direction is closed after this time. Default 1 h. */
  readonly idleMs: number;
  /** A client that takes longer than this to read a MiB is dropped. Default 30 s. */
  readonly blockedMs: number;
  /** Limit for output that one client has not read, in bytes; more drops it. Default 16 MiB. */
  readonly queuedBytes: number;
  /** Limit for unread output of all clients together, in bytes; beyond it the client with most of it is dropped. Default 256 MiB. */
  readonly unreadBytes: number;
  /** Connections in total. Default 10,000. */
  readonly connections: number;
  /** Connections of one peer that is not loopback. Default 64. */
  readonly connectionsPerPeer: number;
}

/** The default bounds of a TCP listener. */
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

/** What `serveTcp` takes. */
export interface TcpOptions {
  /** Receives the frames. */
  readonly gateway: Pick<Gateway, "connect">;
  /** Makes the line that tells a client why it is refused; `id` is that of its first message. Default: a JSON-RPC error. */
  readonly refusal?: (kind: FaultKind, message: string, id: string | number | null) => string;
  /** Where clients send their token, for error messages. Default: `params._meta` of the first request. */
  readonly tokenPlace?: string;
  /** Default 127.0.0.1. Ignored with `path`. */
  readonly host?: string;
  /** Default 0: a free one. Ignored with `path`. */
  readonly port?: number;
  /** A Unix socket, readable and writable by its owner only. */
  readonly path?: string;
  /** The principal on a Unix socket. Default `local`. */
  readonly as?: string;
  /** Its scopes. Default none. */
  readonly scopes?: readonly string[];
  /** Authenticates callers. Without it callers over TCP have no principal. On a Unix socket the file's mode decides. */
  readonly auth?: Authenticator;
  /** Allows listening beyond loopback without authentication. */
  readonly insecure?: boolean;
  readonly limits?: Partial<TcpLimits>;
  readonly clock?: Clock;
  readonly log?: Log;
}

/** A running TCP or Unix-socket server. */
export interface TcpListener extends AsyncDisposable {
  /** `tcp://127.0.0.1:4000` or `unix:/run/troupe.sock`. */
  readonly url: string;
  /** 0 for a Unix socket. */
  readonly port: number;
  /** Accepts no more connections; each ends once its requests have ended, or after `graceMs` (default 5 s). */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

const OPTIONS: OptionTable<TcpOptions> = {
  gateway: true,
  refusal: true,
  tokenPlace: true,
  host: true,
  port: true,
  path: true,
  as: true,
  scopes: TEXTS,
  auth: AUTH,
  insecure: true,
  limits: boundsOf(TCP_LIMITS),
  clock: true,
  log: FUNCTION,
};

/**
 * MCP over TCP or a Unix socket, framed as on stdio: one JSON text per line, one client per connection (the specification's advice for
 * custom transports). Other protocols with one JSON object per line can use it with a `refusal` of their own.
 */
export async function serveTcp(options: TcpOptions): Promise<TcpListener> {
  const { gateway, refusal, tokenPlace, host = "127.0.0.1", port = 0, path, as = "local", scopes = [], clock = systemClock } = options;
  checkOptions("serveTcp", options, OPTIONS);
  const log = rateLimitedLog(options.log, clock);
  const limits = { ...TCP_LIMITS, ...options.limits };
  // Only its owner may open a Unix socket, so no token is needed.
  const auth = path === undefined ? options.auth : undefined;
  if (path === undefined) refuseOpenListener("TCP", host, auth !== undefined, options.insecure ?? false);
  refuseUnaddressed("TCP", auth);

  const open = new Set<TcpConnection>();
  const uploads = new UploadBudget({
    bytes: limits.arrivingBytes,
    longest: limits.lineBytes,
    clock,
    onFull: () => log?.("warning", { event: "inflow-full", transport: "tcp" }),
  });
  const unread = new UnreadBudget(limits.unreadBytes, () =>
    log?.("warning", { event: "client-dropped", transport: "tcp", reason: "unread" }),
  );
  const peers = new ConnectionsPerPeer(limits.connectionsPerPeer);
  const batch = new TickBatcher<LineChannel>(clock, (channel) => channel.flush());
  const reads = new TickBatcher<() => void>(
    clock,
    (act) => act(),
    () => batch.flush(),
  );
  let closing = false;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false });
  server.maxConnections = limits.connections;
  server.on("drop", () => log?.("warning", { event: "connection-refused", transport: "tcp", reason: "connections" }));
  server.on("connection", (socket) => {
    const peer = socket.remoteAddress;
    if (closing || !peers.enter(socket)) {
      log?.("warning", { event: "connection-refused", transport: "tcp", reason: closing ? "closing" : "connections-per-peer" });
      socket.destroy();
      return;
    }
    const caller: Caller =
      path === undefined ? { scopes: [], ...(peer === undefined ? {} : { peer }) } : { principal: as, scopes, peer: "unix" };
    const connection = tcpConnection({
      socket,
      served: { gateway, refusal, tokenPlace, auth },
      resource: auth?.resource ?? "",
      caller,
      limits,
      uploads,
      unread,
      batch,
      reads,
      clock,
      log,
      onEnd: () => {
        open.delete(connection);
        peers.leave(socket);
      },
    });
    open.add(connection);
  });

  const at = path === undefined ? await listenAt(server, host, port) : 0;
  const url = path === undefined ? `tcp://${authority(host, at)}` : `unix:${await listenAtPath(server, path)}`;
  server.on("error", (error) => log?.("error", { event: "listen-failed", transport: "tcp", name: error.name }));
  if (path === undefined && auth === undefined && !isLoopback(host)) log?.("warning", { event: "open-listener", transport: "tcp", url });
  log?.("info", { event: "listening", transport: "tcp", url });

  const close = async ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> => {
    if (closing) return closed;
    closing = true;
    reads.flush();
    server.close(() => ended.resolve());
    for (const connection of open) connection.end();
    const undoGrace = clock.after(graceMs, () => {
      for (const connection of open) connection.destroy();
    });
    await closed;
    undoGrace();
  };
  const ended = Promise.withResolvers<void>();
  const closed = ended.promise;
  return { url, port: at, close, [Symbol.asyncDispose]: () => close() };
}
