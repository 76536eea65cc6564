import { createServer } from "node:net";
import { boundsOf, type Caller, checkOptions, FUNCTION, type OptionTable, systemClock } from "../../core/contract/index.ts";
import { authority, isLoopback } from "./address.ts";
import { AUTH, refuseUnaddressed } from "./door-options.ts";
import { UploadBudget, ConnectionsPerPeer, ReadBudget } from "./budgets.ts";
import type { LineChannel } from "./lines.ts";
import { listenAt, refuseOpenDoor, listenAtPath } from "./listen.ts";
import { type TcpConnection, tcpConnection } from "./tcp-connection.ts";
import { TCP_LIMITS, type TcpDoor, type TcpOptions } from "./tcp-options.ts";
import { rateLimitedLog } from "../../core/contract/internal.ts";
import { TickBatcher } from "./pipeline.ts";

// Owns: the listening TCP or Unix socket. Does not own: one client (tcp-connection.ts).

const OPTIONS: OptionTable<TcpOptions> = {
  gateway: true,
  refusal: true,
  tokenPlace: true,
  host: true,
  port: true,
  path: true,
  as: true,
  auth: AUTH,
  insecure: true,
  limits: boundsOf(TCP_LIMITS),
  clock: true,
  log: FUNCTION,
};

/**
 * MCP over TCP or a Unix socket, framed as on stdio: one JSON text a line, one
 * connection one client (the specification's advice for custom transports). Other
 * protocols of one JSON object a line go the same way, with a `refusal` of their own.
 */
export async function serveTcp(options: TcpOptions): Promise<TcpDoor> {
  const { gateway, refusal, tokenPlace, host = "127.0.0.1", port = 0, path, as = "local", clock = systemClock } = options;
  checkOptions("serveTcp", options, OPTIONS);
  const log = rateLimitedLog(options.log, clock);
  const limits = { ...TCP_LIMITS, ...options.limits };
  // Whoever may open the file is its owner: the mode has asked already.
  const auth = path === undefined ? options.auth : undefined;
  if (path === undefined) refuseOpenDoor("TCP", host, auth !== undefined, options.insecure ?? false);
  refuseUnaddressed("TCP", auth);

  const open = new Set<TcpConnection>();
  const uploads = new UploadBudget({
    bytes: limits.arrivingBytes,
    longest: limits.lineBytes,
    clock,
    onFull: () => log?.("warning", { event: "inflow-full", door: "tcp" }),
  });
  const unread = new ReadBudget(limits.unreadBytes, () => log?.("warning", { event: "client-dropped", door: "tcp", reason: "unread" }));
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
  server.on("drop", () => log?.("warning", { event: "connection-refused", door: "tcp", reason: "connections" }));
  server.on("connection", (socket) => {
    const peer = socket.remoteAddress;
    if (closing || !peers.enter(socket)) {
      log?.("warning", { event: "connection-refused", door: "tcp", reason: closing ? "closing" : "connections-per-peer" });
      socket.destroy();
      return;
    }
    const caller: Caller =
      path === undefined ? { scopes: [], ...(peer === undefined ? {} : { peer }) } : { principal: as, scopes: [], peer: "unix" };
    const connection = tcpConnection({
      socket,
      door: { gateway, refusal, tokenPlace, auth },
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
  server.on("error", (error) => log?.("error", { event: "listen-failed", door: "tcp", name: error.name }));
  if (path === undefined && auth === undefined && !isLoopback(host)) log?.("warning", { event: "open-door", door: "tcp", url });
  log?.("info", { event: "listening", door: "tcp", url });

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
