// Owns: upgrades of HTTP requests to WebSockets, and all that are open. Does not own: one WebSocket (websocket-connection.ts).
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Answer, type Caller, type Clock, type Log, type SocketMount, TroupeError } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import type { Verdict } from "./auth/index.ts";
import { endRefused } from "./listen.ts";
import { lastAnswer } from "./http-bytes.ts";
import { pathOf, headersOf } from "./http-checks.ts";
import type { HttpLimits } from "./http-options.ts";
import { checkPath } from "./http-routes.ts";
import type { UploadBudget } from "./budgets.ts";
import { CLOSING, type HttpCore, TOO_MANY_STREAMS } from "./http-core.ts";
import type { OpenStreams } from "./open-streams.ts";
import { type WebSocketConnection, webSocketConnection } from "./websocket-connection.ts";
import { hasOwn, normalizedPath } from "../../core/contract/internal.ts";

/** The most fragments of one message: each costs memory in addition to its bytes. */
const FRAGMENTS = 1_024;

export interface WebSocketEndpointOptions {
  readonly upgrades: readonly SocketMount[];
  readonly core: HttpCore;
  /** WebSockets count as open streams. */
  readonly streams: OpenStreams;
  readonly uploads: UploadBudget;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

/** A request for a WebSocket. */
interface UpgradeRequest {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly mount: SocketMount;
}

const mountPathOf = (url = ""): string => normalizedPath(pathOf(url));

/**
 * Checks each upgrade like any other HTTP request: head, version, token, number of streams, in this order. A refused client gets an
 * HTTP answer and never a frame.
 */
export class WebSocketEndpoints {
  readonly #options: WebSocketEndpointOptions;
  readonly #mounts = new Map<string, { readonly mount: SocketMount; readonly server: WebSocketServer }>();
  readonly #open = new Set<WebSocketConnection>();
  /** Sockets of all upgrades, refused ones included: node:http does not manage them any more. */
  readonly #sockets = new Set<Socket>();
  #closing = false;
  #onEmpty: (() => void) | undefined;

  /** Throws `TroupeError` (`BAD_OPTION`): a path is invalid or used twice. */
  constructor(options: WebSocketEndpointOptions) {
    this.#options = options;
    for (const mount of options.upgrades) {
      checkPath(mount.path, "a WebSocket's path");
      if (this.#mounts.has(mount.path))
        throw new TroupeError("BAD_OPTION", `Two WebSocket endpoints want ${mount.path}: mount one of them elsewhere.`);
      this.#mounts.set(mount.path, { mount, server: upgrader(mount, options.limits.bodyBytes, options.clock) });
    }
  }

  /** True if the request is an upgrade at a WebSocket's path, without a body, which would be read as frames. */
  wants({ headers, method, url = "" }: IncomingMessage): boolean {
    if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket" || !this.#mounts.has(mountPathOf(url))) return false;
    return headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const mount = this.#mounts.get(mountPathOf(request.url))?.mount;
    if (!(socket instanceof Socket) || mount === undefined) {
      socket.destroy();
      return;
    }
    const upgrade = { request, socket, head, mount };
    // node:http has removed its own listener, and without any an error would end the process.
    socket.on("error", () => {});
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#empty();
    });
    const { core } = this.#options;
    const headers = headersOf(request);
    const wrong = core.refuseHead({ headers, url: request.url ?? "" });
    if (wrong !== undefined) return this.#refuse(socket, wrong);
    if (headers.get("sec-websocket-version") !== "13") {
      const answer = refusal("INVALID_REQUEST", "Send Sec-WebSocket-Version: 13.", { "sec-websocket-version": "13" });
      return this.#refuse(socket, { ...answer, status: 426 });
    }
    const verdict = core.authenticate({ headers, peer: socket.remoteAddress }, { guarded: true });
    if (verdict instanceof Promise) void verdict.then((verified) => this.#admit(upgrade, verified));
    else this.#admit(upgrade, verdict);
  }

  /** Opens no more WebSockets; each is closed (1001) once its requests have been answered. Settles when all sockets are closed. */
  drain(): Promise<void> {
    this.#closing = true;
    for (const connection of this.#open) connection.drain();
    return new Promise((done) => {
      this.#onEmpty = done;
      this.#empty();
    });
  }

  /** Closes them without waiting for requests that run. */
  endAll(): void {
    for (const connection of this.#open) connection.end();
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #empty(): void {
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }

  #admit({ request, socket, head, mount }: UpgradeRequest, verdict: Verdict): void {
    const { core, streams, uploads, limits, clock, log } = this.#options;
    if (hasOwn(verdict, "refused")) return this.#refuse(socket, core.refuseToken(verdict));
    if (socket.destroyed) return;
    if (this.#closing) return this.#refuse(socket, CLOSING);
    const { caller: verified, expiresAt } = verdict;
    const peer = socket.remoteAddress;
    const caller: Caller = peer === undefined ? verified : { ...verified, peer };
    const lease = core.leaseStream(caller);
    if (lease === undefined) return this.#refuse(socket, TOO_MANY_STREAMS);
    let open = false;
    const opened = (ws: WebSocket): void => {
      open = true;
      socket.once("close", () => streams.leave(lease));
      const connection = webSocketConnection({
        ws,
        socket,
        connect: (channel) => mount.connect(channel, caller),
        expiresAt,
        limits,
        uploads,
        clock,
        log,
        onEnd: () => void this.#open.delete(connection),
      });
      this.#open.add(connection);
    };
    // The handshake is checked synchronously; if it fails, the lease is returned.
    this.#mounts.get(mount.path)?.server.handleUpgrade(request, socket, head, opened);
    if (!open) streams.leave(lease);
  }

  #refuse(socket: Socket, answer: Answer): void {
    endRefused(socket, this.#options.clock, lastAnswer(answer));
  }
}

function upgrader({ protocol }: SocketMount, bytes: number, clock: Clock): WebSocketServer {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: bytes,
    maxFragments: FRAGMENTS,
    // Compression costs memory per connection, and allows a small frame to unpack into a large one.
    perMessageDeflate: false,
    // Otherwise pongs would queue up for a client that pings and does not read.
    autoPong: false,
    handleProtocols: (offered) => (protocol !== undefined && offered.has(protocol) ? protocol : false),
  });
  server.on("wsClientError", (error, socket) => {
    endRefused(socket, clock, lastAnswer(refusal("INVALID_REQUEST", `This is no WebSocket handshake: ${error.message}.`)));
  });
  return server;
}
