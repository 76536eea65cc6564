import { LineChannel } from "./lines.ts";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WriteQueue, type WriteQueueOptions } from "./write-queue.ts";
import { Cancellation, type CancelSignal, type Channel } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import type { OpenStream } from "./open-streams.ts";

// Owns: responses of node:http that are streams: server-sent events, and lines of JSON.
// Does not own: how many streams may be open (open-streams.ts), streams of web responses (web/web-stream.ts).

/** The way out of a response whose head has been sent. */
abstract class ResponseWriteQueue extends WriteQueue {
  protected readonly response: ServerResponse;
  // Kept: of very many streams each response that is looked at is a wait for the memory.
  #known: Socket | ServerResponse | null;

  /** `chunked`: false for HTTP/1.0, which knows no chunks. */
  constructor(response: ServerResponse, chunked: boolean, door: WriteQueueOptions) {
    super(door);
    this.response = response;
    this.#known = chunked ? response.socket : response;
  }

  /** Whoever writes frames the chunks. A pipelined response has no socket until those before it have ended. */
  protected get direct(): boolean {
    return this.#way !== this.response;
  }

  protected override put(data: string | Uint8Array): void {
    this.#way.write(data);
  }

  override get queued(): number {
    return this.#way.writableLength;
  }

  protected override afterwards(run: () => void): void {
    this.#way.write("", run);
  }

  protected override destroy(): void {
    this.response.destroy();
  }

  get #way(): Socket | ServerResponse {
    return (this.#known ??= this.response.socket) ?? this.response;
  }
}

/** A comment: no event. */
export const KEEP_ALIVE = ": keep-alive\n\n";
const LINE_BREAK = /\r\n|\r|\n/g;

/** One server-sent event as text. An empty text with an id is the event that primes a stream. */
export function frameEvent(message: string, eventId?: string, retryMs?: number, event?: string): string {
  let head = event === undefined ? "" : `event: ${event}\n`;
  // An id that breaks the line would let its author write events of its own.
  if (eventId !== undefined && !/[\r\n\0]/.test(eventId)) head += `id: ${eventId}\n`;
  if (retryMs !== undefined) head += `retry: ${retryMs}\n`;
  const text = wellFormed(message);
  // JSON may be laid out over lines; within an event every line needs its own field.
  const data = text.includes("\n") || text.includes("\r") ? text.replace(LINE_BREAK, "\ndata: ") : text;
  return `${head}data: ${data}\n\n`;
}

/** A piece of a response in the chunked coding. */
const asChunk = (payload: string): string => `${Buffer.byteLength(payload).toString(16)}\r\n${payload}\r\n`;

const ALIVE = Buffer.from(asChunk(KEEP_ALIVE));

// A broadcast sends the same few texts to one stream after another, which then share their bytes. Short ones only: a long one is an
// answer, and comes once.
const SHARED_CHARACTERS = 512;
const SHARED = 64;
const shared = new Map<string, Buffer>();

function chunkOf(text: string, eventId?: string, retryMs?: number, event?: string): string | Buffer {
  if (eventId !== undefined || retryMs !== undefined || event !== undefined) return asChunk(frameEvent(text, eventId, retryMs, event));
  if (text.length > SHARED_CHARACTERS) return asChunk(frameEvent(text));
  let chunk = shared.get(text);
  if (chunk === undefined) {
    chunk = Buffer.from(asChunk(frameEvent(text)));
    if (shared.size === SHARED) shared.clear();
    shared.set(text, chunk);
  }
  return chunk;
}

/** What the streams of one door share: there may be very many that do nothing. */
export interface StreamDoor extends WriteQueueOptions {
  /** Its response is over, whoever ended it. */
  readonly onEnd: (stream: OpenStream, response: ServerResponse) => void;
}

/**
 * A response as a stream of events. Chunks are framed here and written straight
 * to the socket, which costs half of `response.write` and shows at once whether
 * the client reads. The head must have been sent. Its own way out, since there
 * may be very many, and each object of one is a wait for the memory.
 */
export class EventStream extends ResponseWriteQueue implements Channel, OpenStream {
  readonly #onEnd: StreamDoor["onEnd"];
  readonly #gone = new Cancellation();

  /** The response is open. `chunked`: false for HTTP/1.0, which knows no chunks. */
  constructor(response: ServerResponse, chunked: boolean, door: StreamDoor) {
    super(response, chunked, door);
    this.#onEnd = door.onEnd;
    // Not `once`, which holds three times as much: it is emitted once.
    response.on("close", () => this.#closed());
  }

  get gone(): CancelSignal {
    return this.#gone;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    if (this.over) return;
    this.write(this.direct ? chunkOf(text, eventId, retryMs, event) : frameEvent(text, eventId, retryMs, event));
  }

  /** A comment, so that nothing between here and the client takes the silence for an end. */
  keepAlive(): void {
    if (!this.ready) return;
    this.write(this.direct ? ALIVE : KEEP_ALIVE);
  }

  close(): void {
    this.finish();
    if (!this.response.writableEnded) this.response.end();
  }

  /** As `close`, by the server's own decision: whoever feeds the stream learns that it is gone. */
  evict(): void {
    this.close();
    this.#gone.abort();
  }

  #closed(): void {
    const { response } = this;
    const finished = this.over && response.writableFinished;
    this.end();
    this.#onEnd(this, response);
    if (!finished) this.#gone.abort();
  }
}

class LineWriteQueue extends ResponseWriteQueue {
  protected override put(data: string | Uint8Array): void {
    super.put(this.direct && typeof data === "string" ? asChunk(data) : data);
  }
}

/**
 * A response as lines of JSON, each written as soon as it is sent. The head must
 * have been sent. Nothing keeps it alive: not every reader passes over an empty line.
 */
export function lineStream(response: ServerResponse, chunked: boolean, door: StreamDoor): Channel & OpenStream {
  const channel = new LineChannel({ queue: new LineWriteQueue(response, chunked, door), end: () => void response.end() });
  response.on("close", () => {
    channel.lose();
    door.onEnd(stream, response);
  });
  const stream: Channel & OpenStream = {
    send: (text) => channel.send(text),
    get ready() {
      return channel.ready;
    },
    get gone() {
      return channel.gone;
    },
    onReady: (run) => channel.onReady(run),
    close: () => channel.close(),
    keepAlive() {},
    evict() {
      channel.close();
      channel.lose();
    },
  };
  return stream;
}
