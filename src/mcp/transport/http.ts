// Owns: the listening HTTP server: its connections, what node:http cannot parse, upgrades, closing.
// Does not own: requests (node-http-handler.ts), options and their defaults (http-options.ts).
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { boundsOf, checkOptions, FUNCTION, type OptionTable, systemClock, systemEntropy } from "../../core/contract/index.ts";
import { type FaultKind, refusal } from "../gateway/index.ts";
import { AUTH, refuseUnaddressed } from "./auth/index.ts";
import { authority, endRefused, isLoopback, listenAt, refuseOpenListener } from "./listen.ts";
import { lastAnswer, BodyRequest, createServer } from "./http-bytes.ts";
import { HttpCore } from "./http-core.ts";
import { NodeHttpHandler } from "./node-http-handler.ts";
import { HOSTS, httpGuard, ORIGINS } from "./http-checks.ts";
import { HTTP_LIMITS, type HttpListener, type HttpOptions } from "./http-options.ts";
import { checkPath, routes } from "./http-routes.ts";
import { UploadBudget, ConnectionsPerPeer } from "./budgets.ts";
import { OpenStreams } from "./open-streams.ts";
import { rateLimitedLog, withTimeout } from "../../core/contract/internal.ts";
import type { WebSocketEndpoints } from "./websocket.ts";

const OPTIONS: OptionTable<HttpOptions> = {
  gateway: true,
  host: true,
  port: true,
  path: true,
  auth: AUTH,
  allowedHosts: HOSTS,
  allowedOrigins: ORIGINS,
  insecure: true,
  sse: true,
  ready: FUNCTION,
  limits: boundsOf(HTTP_LIMITS),
  endpoints: true,
  upgrades: true,
  clock: true,
  entropy: true,
  log: FUNCTION,
};

const CHECK_MS = 1_000;
const FLUSH_MS = 1_000;
/** The client ended the connection in the middle of a request. */
const LEFT = "HPE_INVALID_EOF_STATE";

const REFUSALS: Readonly<Record<string, readonly [kind: FaultKind, message: string]>> = {
  HPE_HEADER_OVERFLOW: ["HEAD", "The request's head is too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["LATE", "The request did not arrive in time."],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ["TOO_LARGE", "The request's chunk extensions are too large."],
};

/** The last answer on a connection whose request cannot be parsed. */
function unreadable(code: string | undefined): string {
  const [kind, message] = REFUSALS[code ?? ""] ?? ["INVALID_REQUEST", "This is not an HTTP request that can be read one way only."];
  return lastAnswer(refusal(kind, message));
}

/**
 * Streamable HTTP, and the handlers mounted next to it, on node:http. Secure by default: loopback only, Host and Origin checked,
 * everything limited in size and time. Throws `TroupeError` (`DOOR_…`) if it cannot listen.
 */
export async function serveHttp(options: HttpOptions): Promise<HttpListener> {
  const { gateway, host = "127.0.0.1", port = 0, path = "/mcp", auth, endpoints = [], upgrades = [], clock = systemClock } = options;
  checkOptions("serveHttp", options, OPTIONS);
  const log = rateLimitedLog(options.log, clock);
  const limits = { ...HTTP_LIMITS, ...options.limits };
  refuseOpenListener("HTTP", host, auth !== undefined, options.insecure ?? false);
  const everywhere = host === "0.0.0.0" || host === "::";
  // A loopback audience would accept tokens that were made for another server on the client's machine.
  if (everywhere) refuseUnaddressed(`HTTP on ${host}`, auth);
  checkPath(path, "the endpoint's path");

  // Loaded on demand, since few servers need them, and before the server listens.
  const Sockets = upgrades.length === 0 ? undefined : (await import("./websocket.ts")).WebSocketEndpoints;
  const Sse = options.sse === true ? (await import("./deprecated-sse.ts")).HttpSse : undefined;
  const sse = Sse && new Sse(gateway, options.entropy ?? systemEntropy);

  const server = createServer<typeof BodyRequest>({
    IncomingMessage: BodyRequest,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: Math.min(limits.headersMs, limits.requestMs),
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersMs, limits.requestMs),
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    // Both are checked here, with a clearer message.
    requireHostHeader: false,
    insecureHTTPParser: false,
    // Other upgrades are handled as plain requests. So are upgrades behind a request without an answer yet, since the two responses
    // would interleave.
    shouldUpgradeCallback: (request) => sockets?.wants(request) === true && !handler.busy(request.socket),
  });
  server.maxConnections = limits.connections;
  // Above its own limit node:http would drop headers silently.
  server.maxHeadersCount = 0;

  const at = await listenAt(server, host, port);
  const url = `http://${authority(host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, at)}${path}`;
  const resource = auth?.resource ?? url;
  const streams = new OpenStreams(limits, clock);
  const uploads = new UploadBudget({
    bytes: limits.arrivingBytes,
    longest: limits.bodyBytes,
    clock,
    onFull: () => log?.("warning", { event: "inflow-full", transport: "http" }),
  });

  const { allowedHosts = [], allowedOrigins = [] } = options;
  const guard = httpGuard({ host, allowedHosts, allowedOrigins, resource: auth?.resource });
  const closing = (): boolean => handler.closing;
  let core: HttpCore;
  let sockets: WebSocketEndpoints | undefined;
  try {
    const { ready = () => true } = options;
    const table = routes({ gateway, path, mounted: false, endpoints, auth, resource, sse, closing, ready });
    const rules = { routes: table, path, guard, streams, auth, resource, closing, limits, clock, log };
    core = new HttpCore({ ...rules, transport: "http" });
    const socketCore = new HttpCore({ ...rules, transport: "websocket" });
    sockets = Sockets && new Sockets({ upgrades, core: socketCore, streams, uploads, limits, clock, log });
  } catch (error) {
    server.close();
    throw error;
  }
  const handler = new NodeHttpHandler({ core, uploads, limits, clock, log });

  // node:http treats a connection that has never sent a request as busy.
  const silent = new Set<Socket>();
  const peers = new ConnectionsPerPeer(limits.connectionsPerPeer);
  // One function for all: a closure each would be a tenth of the memory of an idle connection.
  const left = function (this: Socket): void {
    silent.delete(this);
    peers.leave(this);
  };
  server.on("drop", () => log?.("warning", { event: "connection-refused", transport: "http", reason: "connections" }));
  server.on("connection", (socket: Socket) => {
    if (!peers.enter(socket)) {
      log?.("warning", { event: "connection-refused", transport: "http", reason: "connections-per-peer" });
      socket.destroy();
      return;
    }
    silent.add(socket);
    socket.on("close", left);
  });
  server.on("request", (request, response) => {
    silent.delete(request.socket);
    handler.handle(request, response);
  });
  server.on("checkContinue", (request, response) => {
    silent.delete(request.socket);
    handler.handle(request, response, true);
  });
  server.on("upgrade", (request, socket, head) => {
    silent.delete(request.socket);
    if (sockets === undefined) socket.destroy();
    else sockets.handle(request, socket, head);
  });
  server.on("checkExpectation", (_request, response) =>
    handler.answer(response, refusal("EXPECTATION", "Only 100-continue may be expected.", { connection: "close" })),
  );
  const unread = new WeakSet<Duplex>();
  const refuseUnreadable = (code: string, socket: Socket): void => {
    if (!socket.writable || handler.isEnding(socket)) {
      socket.destroy();
      return;
    }
    endRefused(socket, clock, unreadable(code));
    log?.("notice", { event: "request-unreadable", transport: "http", code });
  };
  // Tunnels are not supported, and node:http does not manage the connection any more.
  server.on("connect", ({ socket }) => {
    socket.on("error", () => {});
    socket.once("close", () => handler.lost(socket));
    handler.flush();
    endRefused(socket, clock);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    if (!(socket instanceof Socket) || error.code === "ECONNRESET") {
      socket.destroy();
      return;
    }
    // All that follows on the connection is unreadable too.
    if (unread.has(socket)) return;
    unread.add(socket);
    const { code = error.name } = error;
    setImmediate(() => {
      handler.flush();
      // A client that has closed the connection gets no answer.
      if (code === LEFT && handler.busy(socket)) socket.destroy();
      // An error written now would be read as part of a pending answer.
      else handler.whenIdle(socket, () => refuseUnreadable(code, socket));
    });
  });
  server.on("error", (error) => log?.("error", { event: "listen-failed", transport: "http", name: error.name }));

  if (auth === undefined && !isLoopback(host)) log?.("warning", { event: "open-listener", transport: "http", url });
  log?.("info", { event: "listening", transport: "http", url });

  let closed: Promise<void> | undefined;
  const shut = async (graceMs: number): Promise<void> => {
    const idle = Promise.all([handler.drain(), sockets?.drain(), sse?.drain()]);
    // node:http considers an answer finished once it is written, and would cut it off before it was read.
    await withTimeout(clock, FLUSH_MS, handler.read(), () => undefined);
    const ended = new Promise<void>((done) => server.close(() => done()));
    for (const socket of silent) socket.destroy();
    await withTimeout(clock, graceMs, idle, () => undefined);
    streams.endAll();
    sockets?.endAll();
    void handler.idle().then(() => server.closeIdleConnections());
    // The last bytes get a moment; a client that does not read them is cut off.
    const undoFlush = clock.after(FLUSH_MS, () => {
      server.closeAllConnections();
      sockets?.destroyAll();
    });
    await ended;
    undoFlush();
  };
  const close = ({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> => (closed ??= shut(graceMs));
  return { url, port: at, close, [Symbol.asyncDispose]: () => close() };
}
