// Owns: responses of node:http that are streams: server-sent events, and lines of JSON.
// Does not own: how many streams may be open (open-streams.ts), streams of web responses (web/web-handler.ts).
import { LineChannel } from "./lines.ts";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { WriteQueue, type WriteQueueOptions } from "./write-queue.ts";
import { Cancellation, type CancelSignal, type Channel } from "../../core/contract/index.ts";
import { wellFormed } from "../../core/contract/internal.ts";
import type { OpenStream } from "./open-streams.ts";

/** The output of a response whose head has been sent. */
abstract class ResponseWriteQueue extends WriteQueue {
  protected readonly response: ServerResponse;
  // Cached: with very many streams, each access to a response is a cache miss.
  #known: Socket | ServerResponse | null;

  /** `chunked`: false for HTTP/1.0, which has no chunks. */
  constructor(response: ServerResponse, chunked: boolean, options: WriteQueueOptions) {
    super(options);
    this.response = response;
    this.#known = chunked ? response.socket : response;
  }

  /** Chunks are framed here. False while a pipelined response has no socket, because those before it have not ended. */
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

/** A comment, which is not an event. */
export const KEEP_ALIVE = ": keep-alive\n\n";
const LINE_BREAK = /\r\n|\r|\n/g;

/** One server-sent event. An empty text with an id is the event that starts a resumable stream. */
export function frameEvent(message: string, eventId?: string, retryMs?: number, event?: string): string {
  let head = event === undefined ? "" : `event: ${event}\n`;
  // A line break in an id would let its author inject events.
  if (eventId !== undefined && !/[\r\n\0]/.test(eventId)) head += `id: ${eventId}\n`;
  if (retryMs !== undefined) head += `retry: ${retryMs}\n`;
  const text = wellFormed(message);
  // JSON may contain line breaks, and in an event each line needs a field of its own.
  const data = text.includes("\n") || text.includes("\r") ? text.replace(LINE_BREAK, "\ndata: ") : text;
  return `${head}data: ${data}\n\n`;
}

/** A chunk of a response in the chunked transfer coding. */
const asChunk = (payload: string): string => `${Buffer.byteLength(payload).toString(16)}\r\n${payload}\r\n`;

const ALIVE = Buffer.from(asChunk(KEEP_ALIVE));

// A broadcast sends the same few texts to many streams, which then share their bytes. Only short texts: long ones are answers, and
// are sent once.
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

/** Shared by all streams of one server, since there may be very many idle ones. */
export interface StreamOptions extends WriteQueueOptions {
  /** The response has ended. */
  readonly onEnd: (stream: OpenStream, response: ServerResponse) => void;
}

/**
 * A response as a stream of events. Chunks are framed here and written directly to the socket, which costs half of `response.write`
 * and shows at once whether the client reads. The head must have been sent. It extends its queue because there may be very many
 * streams, and each further object would be a cache miss.
 */
export class EventStream extends ResponseWriteQueue implements Channel, OpenStream {
  readonly #onEnd: StreamOptions["onEnd"];
  readonly #disconnected = new Cancellation();

  /** The response must be open. `chunked`: false for HTTP/1.0, which has no chunks. */
  constructor(response: ServerResponse, chunked: boolean, options: StreamOptions) {
    super(response, chunked, options);
    this.#onEnd = options.onEnd;
    // Not `once`, which needs three times the memory; the event is emitted only once.
    response.on("close", () => this.#closed());
  }

  get disconnected(): CancelSignal {
    return this.#disconnected;
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    if (this.over) return;
    this.write(this.direct ? chunkOf(text, eventId, retryMs, event) : frameEvent(text, eventId, retryMs, event));
  }

  /** Sends a comment, so that no intermediary closes a silent connection. */
  keepAlive(): void {
    if (!this.ready) return;
    this.write(this.direct ? ALIVE : KEEP_ALIVE);
  }

  close(): void {
    this.finish();
    if (!this.response.writableEnded) this.response.end();
  }

  /** Like `close`, by the server's decision: the code that writes to the stream is notified by `disconnected`. */
  evict(): void {
    this.close();
    this.#disconnected.abort();
  }

  #closed(): void {
    const { response } = this;
    const finished = this.over && response.writableFinished;
    this.end();
    this.#onEnd(this, response);
    if (!finished) this.#disconnected.abort();
  }
}

class LineWriteQueue extends ResponseWriteQueue {
  protected override put(data: string | Uint8Array): void {
    super.put(this.direct && typeof data === "string" ? asChunk(data) : data);
  }
}

/**
 * A response as lines of JSON, each written as soon as it is sent. The head must have been sent. There is no keep-alive, since not
 * every reader ignores empty lines.
 */
export class LineStream extends LineChannel implements OpenStream {
  constructor(response: ServerResponse, chunked: boolean, options: StreamOptions) {
    super({ queue: new LineWriteQueue(response, chunked, options), end: () => void response.end() });
    response.on("close", () => {
      this.lose();
      options.onEnd(this, response);
    });
  }

  keepAlive(): void {}

  evict(): void {
    this.close();
    this.lose();
  }
}
