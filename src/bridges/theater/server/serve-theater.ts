// Owns: listening for clients of Theater's protocol. Does not own: a connection (connection.ts).
import { createServer, type Server } from "node:net";
import {
  boundsOf,
  checkOptions,
  FUNCTION,
  type OptionTable,
  systemClock,
  systemEntropy,
  TroupeError,
} from "../../../core/contract/index.ts";
import { rateLimitedLog, TEXT } from "../../../core/contract/internal.ts";
import { authority, isLoopback, listenAt, listenAtPath } from "../../../mcp/transport/listen.ts";
import { ClientChannels } from "./client-channels.ts";
import { Connection } from "./connection.ts";
import type { ServerContext } from "./execute-command.ts";
import { THEATER_LIMITS, type TheaterListener, type TheaterOptions } from "./options.ts";
import { Subscriptions } from "./subscriptions.ts";

const OPTIONS: OptionTable<TheaterOptions> = {
  stage: true,
  host: TEXT,
  port: true,
  path: TEXT,
  insecure: true,
  limits: boundsOf(THEATER_LIMITS),
  clock: true,
  entropy: true,
  log: FUNCTION,
};

/**
 * Serves Theater's management protocol over TCP or a Unix socket. A client's first frame determines its codec, from which
 * `printResponse` derives what differs between versions. Throws `UNSAFE_LISTENER` beyond loopback, `BAD_ADDRESS`, `BAD_OPTION`.
 *
 * Where Theater's own server is silent, hangs up or confirms what it did not do, this one answers with an error: an unreadable command
 * is an `InvalidRequest`, an unknown actor or channel is not found. `RestartActor` keeps the actor's id and state,
 * `UnsubscribeFromActor` ends the subscription, and an actor's reply on accepting a channel is that channel's first message.
 */
export async function serveTheater(options: TheaterOptions): Promise<TheaterListener> {
  checkOptions("serveTheater", options, OPTIONS);
  const { stage, host = "127.0.0.1", port = 0, path, insecure = false, clock = systemClock, entropy = systemEntropy } = options;
  const log = rateLimitedLog(options.log, clock);
  const limits = { ...THEATER_LIMITS, ...options.limits };
  if (path === undefined) refuseOpenListener(host, insecure);
  const context: ServerContext = {
    stage,
    limits,
    clock,
    log,
    channels: new ClientChannels(stage, limits.channels, log),
    subscriptions: new Subscriptions(stage, limits.subscriptions, entropy),
  };

  const connections = new Set<Connection>();
  let isClosing = false;
  // A client that has half-closed still wants its answers.
  const server = createServer({ allowHalfOpen: true });
  server.maxConnections = limits.connections;
  server.on("drop", () => log?.("warning", { event: "connection-refused", transport: "theater", reason: "connections" }));
  server.on("connection", (socket) => {
    if (isClosing) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, context);
    connections.add(connection);
    socket.once("close", () => connections.delete(connection));
  });

  const address =
    path === undefined ? await listenOnPort(server, host, port) : { url: `unix:${await listenAtPath(server, path)}`, port: 0 };
  server.on("error", (error) => log?.("error", { event: "listen-failed", transport: "theater", name: error.name }));
  if (path === undefined && !isLoopback(host)) log?.("warning", { event: "open-listener", transport: "theater", url: address.url });
  log?.("info", { event: "listening", transport: "theater", url: address.url });

  const closed = Promise.withResolvers<void>();
  const close = async ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> => {
    if (isClosing) return closed.promise;
    isClosing = true;
    server.close(() => closed.resolve());
    for (const connection of connections) connection.end();
    const undoGrace = clock.after(graceMs, () => {
      for (const connection of connections) connection.destroy();
    });
    await closed.promise;
    undoGrace();
  };
  return { ...address, close, [Symbol.asyncDispose]: () => close() };
}

async function listenOnPort(server: Server, host: string, wanted: number): Promise<{ readonly url: string; readonly port: number }> {
  const port = await listenAt(server, host, wanted);
  return { url: `tcp://${authority(host, port)}`, port };
}

/** The protocol has no authentication, so listening beyond loopback must be requested explicitly. */
function refuseOpenListener(host: string, insecure: boolean): void {
  if (insecure || isLoopback(host)) return;
  throw new TroupeError(
    "UNSAFE_LISTENER",
    `Theater's protocol has no authentication, and on ${host} everybody who reaches this machine could start and stop actors: ` +
      "listen on 127.0.0.1 or at a Unix socket, or say insecure (--insecure-no-auth on the command line) when something in front of it authenticates.",
  );
}
