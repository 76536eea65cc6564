import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Channel, Clock } from "../contract/index.ts";
import type { OpenStream } from "./open-streams.ts";
import { type DropReason, Outlet, type OutletLimits, type Sink } from "./outlet.ts";

/** A comment: no event. */
export const KEEP_ALIVE = ": keep-alive\n\n";
const LINE_BREAK = /\r\n|\r|\n/g;

/** One server-sent event as text. An empty text with an id is the event that primes a stream. */
export function frameEvent(text: string, eventId?: string, retryMs?: number, event?: string): string {
  let head = event === undefined ? "" : `event: ${event}\n`;
  // An id that breaks the line would let its author write events of its own.
  if (eventId !== undefined && !/[\r\n\0]/.test(eventId)) head += `id: ${eventId}\n`;
  if (retryMs !== undefined) head += `retry: ${retryMs}\n`;
  // JSON may be laid out over lines; within an event every line needs its own field.
  const data = text.includes("\n") || text.includes("\r") ? text.replace(LINE_BREAK, "\ndata: ") : text;
  return `${head}data: ${data}\n\n`;
}

/** A piece of a response in the chunked coding. */
export const asChunk = (payload: string): string => `${Buffer.byteLength(payload).toString(16)}\r\n${payload}\r\n`;

// A broadcast sends the same text to one stream after another: from the second on, all share one buffer.
let lastText = "";
let lastFrame: Buffer | undefined;

function chunkOf(text: string, eventId?: string, retryMs?: number, event?: string): string | Buffer {
  if (eventId !== undefined || retryMs !== undefined || event !== undefined) return asChunk(frameEvent(text, eventId, retryMs, event));
  if (text !== lastText) {
    lastText = text;
    lastFrame = undefined;
    return asChunk(frameEvent(text));
  }
  lastFrame ??= Buffer.from(asChunk(frameEvent(text)));
  return lastFrame;
}

export interface ResponseStreamOptions {
  readonly response: ServerResponse;
  /** False for HTTP/1.0, which knows no chunks. */
  readonly chunked: boolean;
  readonly limits: OutletLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
  readonly onEnd: () => void;
}

/**
 * A response as a stream of events. Chunks are framed here and written straight
 * to the socket, which costs half of `response.write` and shows at once whether
 * the client reads. The head must have been sent.
 */
export class EventStream implements Channel, OpenStream {
  readonly #response: ServerResponse;
  readonly #outlet: Outlet;
  readonly #chunked: boolean;
  readonly #gone = new AbortController();
  #ended = false;

  constructor({ response, chunked, limits, clock, onDrop, onEnd }: ResponseStreamOptions) {
    this.#response = response;
    this.#chunked = chunked;
    this.#outlet = new Outlet(sinkOf(response), limits, clock, onDrop);
    const closed = (): void => {
      const finished = this.#ended && response.writableFinished;
      this.#ended = true;
      this.#outlet.end();
      onEnd();
      if (!finished) this.#gone.abort();
    };
    if (response.closed) closed();
    else response.once("close", closed);
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#outlet.ready;
  }

  get ended(): boolean {
    return this.#ended;
  }

  onReady(run: () => void): () => void {
    return this.#outlet.onReady(run);
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    if (this.#ended) return;
    const direct = this.#chunked && this.#response.socket !== null;
    this.#outlet.write(direct ? chunkOf(text, eventId, retryMs, event) : frameEvent(text, eventId, retryMs, event));
  }

  /** A comment, so that nothing between here and the client takes the silence for an end. */
  keepAlive(): void {
    if (!this.ready) return;
    this.#outlet.write(this.#chunked && this.#response.socket !== null ? asChunk(KEEP_ALIVE) : KEEP_ALIVE);
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#outlet.finish();
    this.#response.end();
  }

  /** As `close`, by the server's own decision: whoever feeds the stream learns that it is gone. */
  evict(): void {
    this.close();
    this.#gone.abort();
  }
}

/** The way out of a response whose head has been sent. */
export function sinkOf(response: ServerResponse): Sink {
  // A pipelined response has no socket until those before it have ended.
  const out = (): Socket | ServerResponse => response.socket ?? response;
  return {
    write: (data, flushed) => void out().write(data, flushed),
    queued: () => out().writableLength,
    destroy: () => void response.destroy(),
  };
}
