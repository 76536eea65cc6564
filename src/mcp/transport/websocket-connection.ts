import type { Socket } from "node:net";
import type { WebSocket, RawData } from "ws";
import type { Channel, Clock, Connection, Log } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import { type DropReason, type WriteQueue, type WriteQueueLimits, SinkWriteQueue } from "./write-queue.ts";
import type { HttpLimits } from "./http-options.ts";
import { type Upload, FREE_BYTES, type UploadBudget, NO_ROOM, type NoRoom } from "./budgets.ts";

/** A control frame of a client: two bytes, the mask, what it carries. */
const CONTROL_BYTES = 6;

/**
 * What comes from a client that is no whole message: whether it is still there,
 * and whether it lets us hold a message without end. Counted in bytes of its
 * socket, since the library tells of whole messages only.
 */
class InboundMonitor {
  readonly #socket: { readonly bytesRead: number };
  readonly #messageMs: number;
  /** Bytes that belong to whole messages and control frames. */
  #settled: number;
  #begunAt: number | undefined;
  /** Bytes when it was pinged. */
  #pingedAt: number | undefined;

  constructor(socket: { readonly bytesRead: number }, messageMs: number) {
    this.#socket = socket;
    this.#messageMs = messageMs;
    this.#settled = socket.bytesRead;
  }

  /** Of a message that was begun and has not ended; a little less, where one ended and the next began in one read. */
  get coming(): number {
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

  /** Nothing at all came since it was pinged. Asked once for each ping. */
  silent(): boolean {
    const before = this.#pingedAt;
    this.#pingedAt = undefined;
    return before === this.#socket.bytesRead;
  }

  /** A message was begun some time ago and has not ended. */
  dawdles(now: number): boolean {
    if (this.coming <= 0) this.#begunAt = undefined;
    else this.#begunAt ??= now;
    return this.#begunAt !== undefined && now - this.#begunAt >= this.#messageMs;
  }
}

const NORMAL = 1000;

interface WebSocketChannelOptions {
  readonly ws: WebSocket;
  /** What is beneath it. */
  readonly socket: Socket;
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/** One text frame a message. */
class WebSocketChannel implements Channel {
  readonly #ws: WebSocket;
  readonly #queue: WriteQueue;
  readonly #gone = new AbortController();
  #ended = false;

  constructor({ ws, socket, limits, clock, onDrop }: WebSocketChannelOptions) {
    this.#ws = ws;
    const sink = {
      write: (data: string | Uint8Array) => ws.send(data, { binary: false }),
      queued: () => socket.writableLength,
      afterwards: (run: () => void) => void socket.write("", run),
      destroy: () => ws.terminate(),
    };
    this.#queue = new SinkWriteQueue(sink, { limits, clock, onDrop });
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#queue.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.#queue.queued;
  }

  onReady(run: () => void): () => void {
    return this.#queue.onReady(run);
  }

  send(text: string): void {
    // After a close frame of either side nothing may follow.
    if (!this.#ended && this.#ws.readyState === this.#ws.OPEN) this.#queue.write(wellFormed(text));
  }

  /** Nothing is sent any more; what was may still take its time. */
  finish(): void {
    this.#ended = true;
    this.#queue.finish();
  }

  close(): void {
    if (this.#ended) return;
    this.finish();
    this.#ws.close(NORMAL);
  }

  /** The client has gone. */
  lose(): void {
    this.#ended = true;
    this.#queue.end();
    this.#gone.abort();
  }
}

// A client that reads no answers is not listened to until it does.
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
  /** What is beneath it. */
  readonly socket: Socket;
  readonly connect: (channel: Channel) => Connection;
  /** Of the token, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly limits: HttpLimits;
  readonly uploads: UploadBudget;
  readonly clock: Clock;
  readonly log: Log | undefined;
  /** Once the socket has closed. */
  readonly onEnd: () => void;
}

export interface WebSocketConnection {
  /** Listens no more; says goodbye (1001) when what runs has ended. */
  drain(): void;
  /** Says goodbye now. */
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
    onDrop: (reason) => log?.("warning", { event: "client-dropped", door: "websocket", reason }),
  });

  // A client that does not answer our goodbye would hold the socket.
  const giveUp = (): void => void undo.push(clock.after(LAST_WORDS_MS, () => ws.terminate()));

  const goodbye = (code: number, why: string): void => {
    listening = false;
    undoPause?.();
    ws.resume();
    channel.finish();
    ws.close(code, why);
    giveUp();
  };

  const refuse = (code: number, why: string): void => {
    if (!listening) return;
    log?.("notice", { event: "client-refused", door: "websocket", why });
    goodbye(code, why);
  };

  const heard = new InboundMonitor(socket, limits.requestMs);

  const giveWay = (why: NoRoom): void => {
    if (!listening) return;
    refuse(NO_ROOM_CODE[why], NO_ROOM[why][1]);
    // The library keeps what it has until it has all: no more of it is read.
    ws.pause();
  };

  // Behind the library's own listener: what is left then belongs to no whole message.
  const count = (): void => {
    if (!listening || heard.coming <= FREE_BYTES) return;
    upload ??= uploads.begin(socket.remoteAddress, giveWay);
    upload.holds(heard.coming);
  };

  const arrived = (): void => {
    upload?.end();
    upload = undefined;
  };

  const receive = (data: RawData, binary: boolean): void => {
    heard.message();
    arrived();
    if (!listening) return;
    if (binary || !(data instanceof Uint8Array)) return refuse(UNSUPPORTED, "Send text frames, one message each.");
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
    // Who is not listened to cannot be heard; that it reads is the channel's to watch.
    const silent = heard.silent();
    if (ws.isPaused || !listening) return;
    if (heard.dawdles(clock.now())) return refuse(POLICY, "A message was begun and did not end in time.");
    if (silent) {
      log?.("notice", { event: "client-dropped", door: "websocket", reason: "silent" });
      return ws.terminate();
    }
    if (channel.queued > 0) return;
    heard.pinged();
    ws.ping();
  };

  socket.on("data", count);
  ws.on("message", receive);
  ws.on("pong", (data) => heard.control(data.length));
  ws.on("ping", (data) => {
    heard.control(data.length);
    if (channel.queued === 0) ws.pong(data);
  });
  // Too large, not UTF-8, not masked: it closes with its own code, and needs only somebody to listen.
  ws.on("error", (error) => {
    if (listening) log?.("notice", { event: "client-refused", door: "websocket", why: "code" in error ? String(error.code) : error.name });
    listening = false;
    giveUp();
  });
  ws.once("close", () => {
    listening = false;
    arrived();
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
    (closing ??= connection.close().catch(() => log?.("error", { event: "close-failed", door: "websocket" })));

  if (expiresAt !== undefined) {
    undo.push(clock.after(expiresAt - clock.now(), () => refuse(POLICY, "The token has expired: connect again with a fresh one.")));
  }
  undoTick = clock.after(limits.keepAliveMs, tick);

  return {
    drain() {
      listening = false;
      void closed().then(() => goodbye(AWAY, "The server is closing."));
    },
    end: () => goodbye(AWAY, "The server is closing."),
  };
}
