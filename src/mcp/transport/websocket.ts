import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Answer, type Caller, type Clock, type Log, type SocketMount, TroupeError } from "../../core/contract/index.ts";
import { refusal } from "../gateway/index.ts";
import { type Authenticator, type ChallengeContext, refuseToken, type Verified, verdictOn } from "./auth/index.ts";
import { endRefused } from "./listen.ts";
import { lastAnswer } from "./http-answer.ts";
import { type HttpGuard, pathOf, refuseHead, headersOf } from "./http-checks.ts";
import type { HttpLimits } from "./http-options.ts";
import { checkPath } from "./http-routes.ts";
import type { UploadBudget } from "./budgets.ts";
import { TOO_MANY_STREAMS } from "./http-core.ts";
import type { OpenStreams } from "./open-streams.ts";
import { type WebSocketConnection, webSocketConnection } from "./websocket-connection.ts";
import { hasOwn } from "../../core/contract/internal.ts";

// Owns: upgrades of HTTP requests to WebSockets, and all that are open. Does not own: one WebSocket (websocket-connection.ts).

/** ChunkBuffer of one message: each costs memory beside its bytes. */
const FRAGMENTS = 1_024;

export interface WebSocketDoorOptions {
  readonly upgrades: readonly SocketMount[];
  readonly guard: HttpGuard;
  /** Where they take their seats, together with the streams of responses. */
  readonly streams: OpenStreams;
  readonly uploads: UploadBudget;
  readonly auth: Authenticator | undefined;
  readonly resource: string;
  readonly challenge: ChallengeContext;
  readonly limits: HttpLimits;
  readonly clock: Clock;
  readonly log: Log | undefined;
}

/** A request on its way to a WebSocket. */
interface Arrival {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly mount: SocketMount;
}

/**
 * What every WebSocket passes before it is one: names, version, token, seats, in
 * this order and by the rules of every other request. A stranger gets an HTTP
 * answer and never a frame.
 */
export class WebSocketDoor {
  readonly #options: WebSocketDoorOptions;
  readonly #mounts = new Map<string, { readonly mount: SocketMount; readonly server: WebSocketServer }>();
  readonly #open = new Set<WebSocketConnection>();
  /** All whose request asked for one, refused or not: node:http has let go of them. */
  readonly #sockets = new Set<Socket>();
  #closing = false;
  #onEmpty: (() => void) | undefined;

  /** Throws `TroupeError` (`DOOR_OPTION`): two at one path, or a path that is none. */
  constructor(options: WebSocketDoorOptions) {
    this.#options = options;
    for (const mount of options.upgrades) {
      checkPath(mount.path, "a WebSocket's path");
      if (this.#mounts.has(mount.path))
        throw new TroupeError("DOOR_OPTION", `Two WebSocket doors want ${mount.path}: mount one of them elsewhere.`);
      this.#mounts.set(mount.path, { mount, server: upgrader(mount, options.limits.bodyBytes, options.clock) });
    }
  }

  /** True: it asks for a WebSocket where there is one, and carries no body that would be taken for frames. */
  wants({ headers, method, url = "" }: IncomingMessage): boolean {
    if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket" || !this.#mounts.has(pathOf(url))) return false;
    return headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
  }

  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const mount = this.#mounts.get(pathOf(request.url ?? ""))?.mount;
    if (!(socket instanceof Socket) || mount === undefined) {
      socket.destroy();
      return;
    }
    const arrival = { request, socket, head, mount };
    // node:http has taken its own listener off: without one an error would end the process.
    socket.on("error", () => {});
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#empty();
    });
    const { guard, limits, auth, resource } = this.#options;
    const headers = headersOf(request);
    const wrong = refuseHead({ guard, headers: limits.headers }, headers, request.url ?? "");
    if (wrong !== undefined) return this.#refuse(socket, wrong);
    if (headers.get("sec-websocket-version") !== "13") {
      const answer = refusal("INVALID_REQUEST", "Send Sec-WebSocket-Version: 13.", { "sec-websocket-version": "13" });
      return this.#refuse(socket, { ...answer, status: 426 });
    }
    if (auth === undefined) return this.#admitted(arrival, { caller: { scopes: [] } });
    void Promise.resolve(verdictOn(auth, headers.get("authorization"), resource, socket.remoteAddress)).then((verdict) => {
      if (!hasOwn(verdict, "refused")) return this.#admitted(arrival, verdict);
      this.#options.log?.("notice", { event: "request-refused", door: "websocket", why: verdict.refused });
      return this.#refuse(socket, refuseToken(verdict, this.#options.challenge));
    });
  }

  /** No WebSocket opens any more; each ends (1001) when what runs for it has ended. Settles when none is left. */
  drain(): Promise<void> {
    this.#closing = true;
    for (const connection of this.#open) connection.drain();
    return new Promise((done) => {
      this.#onEmpty = done;
      this.#empty();
    });
  }

  /** Without waiting for what runs. */
  endAll(): void {
    for (const connection of this.#open) connection.end();
  }

  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #empty(): void {
    if (this.#sockets.size === 0) this.#onEmpty?.();
  }

  #admitted({ request, socket, head, mount }: Arrival, { caller: verified, expiresAt }: Verified): void {
    const { streams, uploads, limits, clock, log } = this.#options;
    if (socket.destroyed) return;
    if (this.#closing) return this.#refuse(socket, refusal("UNAVAILABLE", "The server is closing: try again elsewhere or later."));
    const peer = socket.remoteAddress;
    const caller: Caller = peer === undefined ? verified : { ...verified, peer };
    const lease = streams.admit(caller);
    if (lease === undefined) {
      log?.("warning", { event: "stream-refused", door: "websocket", reason: "streams" });
      return this.#refuse(socket, TOO_MANY_STREAMS);
    }
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
    // The handshake is judged at once, and refused to whoever sends a bad one: that takes no lease.
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
    // Memory for each connection, and a small frame that unpacks into a large one.
    perMessageDeflate: false,
    // A client that pings and does not read would make us keep its pongs.
    autoPong: false,
    handleProtocols: (offered) => (protocol !== undefined && offered.has(protocol) ? protocol : false),
  });
  server.on("wsClientError", (error, socket) => {
    endRefused(socket, clock, lastAnswer(refusal("INVALID_REQUEST", `This is no WebSocket handshake: ${error.message}.`)));
  });
  return server;
}
