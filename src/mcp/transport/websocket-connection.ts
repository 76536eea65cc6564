// Owns: one client of a WebSocket: back-pressure, pings, time limits, closing. Does not own: the upgrade (websocket.ts).
import type { Socket } from "node:net";
import type { WebSocket, RawData } from "ws";
import type { Channel, Clock, Connection, Log } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import { type DropReason, QueueChannel, SinkWriteQueue, timeToRead, type WriteQueueLimits } from "./write-queue.ts";
import type { HttpLimits } from "./http-options.ts";
import { type Upload, FREE_BYTES, type UploadBudget, NO_ROOM, type NoRoom } from "./budgets.ts";

/** Bytes of a client's control frame without its payload: two, and the mask. */
const CONTROL_BYTES = 6;

/**
 * Tracks messages that are not complete, and whether the client is alive. Counts bytes of the socket, since the library reports
 * complete messages only.
 */
class InboundMonitor {
  readonly #socket: { readonly bytesRead: number };
  readonly #messageMs: number;
  /** Bytes of complete messages and control frames. */
  #settled: number;
  #begunAt: number | undefined;
  /** The socket's bytes at the last ping. */
  #pingedAt: number | undefined;

  constructor(socket: { readonly bytesRead: number }, messageMs: number) {
    this.#socket = socket;
    this.#messageMs = messageMs;
    this.#settled = socket.bytesRead;
  }

  /** Bytes of an incomplete message; a little less if the one before it ended in the same read. */
  get partial(): number {
    return this.#socket.bytesRead - this.#settled;
  }

  message(): void {
    this.#settled = this.#socket.bytesRead;
    this.#begunAt = undefined;
  }

  control(length: number): void {
    this.#settled += CONTROL_BYTES + length;
  }

  pinged(): void {
    this.#pingedAt = this.#socket.bytesRead;
  }

  /** True if nothing was received since the ping. To be called once per ping. */
  silent(): boolean {
    const before = this.#pingedAt;
    this.#pingedAt = undefined;
    return before === this.#socket.bytesRead;
  }

  /** A message is incomplete for too long. */
  tooSlow(now: number): boolean {
    if (this.partial <= 0) this.#begunAt = undefined;
    else this.#begunAt ??= now;
    return this.#begunAt !== undefined && now - this.#begunAt >= this.#messageMs;
  }
}

const NORMAL = 1000;

interface WebSocketChannelOptions {
  readonly ws: WebSocket;
  /** The socket of `ws`. */
  readonly socket: Socket;
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/** One text frame per message. */
class WebSocketChannel extends QueueChannel {
  readonly #ws: WebSocket;

  constructor({ ws, socket, limits, clock, onDrop }: WebSocketChannelOptions) {
    const sink = {
      write: (data: string | Uint8Array) => ws.send(data, { binary: false }),
      queued: () => socket.writableLength,
      afterwards: (run: () => void) => void socket.write("", run),
      destroy: () => ws.terminate(),
    };
    super(new SinkWriteQueue(sink, { limits, clock, onDrop }));
    this.#ws = ws;
  }

  override send(text: string): void {
    // Nothing may follow a close frame of either side.
    if (!this.ended && this.#ws.readyState === this.#ws.OPEN) this.queue.write(wellFormed(text));
  }

  get closed(): boolean {
    return this.ended;
  }

  /** Sends no more; what was sent may still be read. */
  finish(): void {
    this.ended = true;
    this.queue.finish();
  }

  override close(): void {
    if (this.ended) return;
    this.finish();
    this.#ws.close(NORMAL);
  }
}

// Nothing more is read from a client until it has read its answers.
const PAUSE_BYTES = 262_144;
const LAST_WORDS_MS = 1_000;

/** Close codes (RFC 6455, 7.4.1). */
const AWAY = 1001;
const UNSUPPORTED = 1003;
const POLICY = 1008;
const LATER = 1013;

const NO_ROOM_CODE: Readonly<Record<NoRoom, number>> = { full: LATER, stalled: POLICY };

export interface WebSocketConnectionOptions {
  readonly ws: WebSocket;
  /** The socket of `ws`. */
  readonly socket: Socket;
  readonly connect: (channel: Channel) => Connection;
  /** When the token expires, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly limits: HttpLimits;
  readonly uploads: UploadBudget;
  readonly clock: Clock;
  readonly log: Log | undefined;
  /** Called once the socket has closed. */
  readonly onEnd: () => void;
}

export interface WebSocketConnection {
  /** Reads no more, and closes (1001) once the requests that run have ended. */
  drain(): void;
  /** Closes now. */
  end(): void;
}

/** One client of a WebSocket. */
export function webSocketConnection(options: WebSocketConnectionOptions): WebSocketConnection {
  const { ws, socket, limits, uploads, clock, log, expiresAt } = options;
  const undo: (() => void)[] = [];
  let listening = true;
  let undoPause: (() => void) | undefined;
  let undoTick: (() => void) | undefined;
  let upload: Upload | undefined;

  const channel = new WebSocketChannel({
    ws,
    socket,
    limits,
    clock,
    onDrop: (reason) => log?.("warning", { event: "client-dropped", transport: "websocket", reason }),
  });

  // A client that does not answer the close frame would hold the socket.
  const giveUp = (ms = LAST_WORDS_MS): void => void undo.push(clock.after(ms, () => ws.terminate()));

  const closeWith = (code: number, why: string, lastMs?: number): void => {
    listening = false;
    undoPause?.();
    ws.resume();
    channel.finish();
    ws.close(code, why);
    giveUp(lastMs);
  };

  /** Reads no more, and closes once the requests that run have ended. */
  const closeAfterReplies = (code: number, why: string): void => {
    listening = false;
    void closed().then(() => closeWith(code, why, channel.queued === 0 ? undefined : timeToRead(channel.queued, limits.blockedMs)));
  };

  const refuse = (code: number, why: string, close = closeWith): void => {
    log?.("notice", { event: "client-refused", transport: "websocket", why });
    close(code, why);
  };

  const inbound = new InboundMonitor(socket, limits.requestMs);

  const onEvict = (why: NoRoom): void => {
    if (channel.closed) return;
    refuse(NO_ROOM_CODE[why], NO_ROOM[why][1]);
    // The library retains what it has of the message, so no more is read.
    ws.pause();
  };

  // Runs after the library's own listener, so the remaining bytes belong to an incomplete message.
  const countUpload = (): void => {
    if (channel.closed || inbound.partial <= FREE_BYTES) return;
    upload ??= uploads.begin(socket.remoteAddress, onEvict);
    upload.holds(inbound.partial);
  };

  const endUpload = (): void => {
    upload?.end();
    upload = undefined;
  };

  const receive = (data: RawData, binary: boolean): void => {
    inbound.message();
    endUpload();
    if (!listening) return;
    if (binary || !(data instanceof Uint8Array)) return refuse(UNSUPPORTED, "Send text frames, one message each.", closeAfterReplies);
    connection.receive(data);
    if (channel.queued <= PAUSE_BYTES || undoPause !== undefined) return;
    ws.pause();
    undoPause = channel.onReady(() => {
      undoPause?.();
      undoPause = undefined;
      ws.resume();
    });
  };

  const tick = (): void => {
    undoTick = clock.after(limits.keepAliveMs, tick);
    // While reading is paused, the client cannot be inbound; the channel checks whether it reads.
    const silent = inbound.silent();
    if (ws.isPaused || channel.closed) return;
    if (inbound.tooSlow(clock.now())) return refuse(POLICY, "A message was begun and did not end in time.");
    if (silent) {
      log?.("notice", { event: "client-dropped", transport: "websocket", reason: "silent" });
      return ws.terminate();
    }
    if (channel.queued > 0) return;
    inbound.pinged();
    ws.ping();
  };

  socket.on("data", countUpload);
  ws.on("message", receive);
  ws.on("pong", (data) => inbound.control(data.length));
  ws.on("ping", (data) => {
    inbound.control(data.length);
    if (channel.queued === 0) ws.pong(data);
  });
  // Too large, not UTF-8, not masked: the library closes with the right code, and only needs a listener.
  ws.on("error", (error) => {
    if (listening)
      log?.("notice", { event: "client-refused", transport: "websocket", why: "code" in error ? String(error.code) : error.name });
    listening = false;
    giveUp();
  });
  ws.once("close", () => {
    listening = false;
    endUpload();
    undoTick?.();
    undoPause?.();
    for (const one of undo) one();
    channel.lose();
    options.onEnd();
    void closed();
  });

  const connection = options.connect(channel);
  let closing: Promise<void> | undefined;
  const closed = (): Promise<void> =>
    (closing ??= connection.close().catch(() => log?.("error", { event: "close-failed", transport: "websocket" })));

  if (expiresAt !== undefined) {
    const expire = (): void => {
      if (listening) refuse(POLICY, "The token has expired: connect again with a fresh one.", closeAfterReplies);
    };
    undo.push(clock.after(expiresAt - clock.now(), expire));
  }
  undoTick = clock.after(limits.keepAliveMs, tick);

  return {
    drain: () => closeAfterReplies(AWAY, "The server is closing."),
    end: () => closeWith(AWAY, "The server is closing."),
  };
}
