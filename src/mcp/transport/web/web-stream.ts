import type { Channel, Clock } from "../../../core/contract/index.ts";
import { frameEvent, KEEP_ALIVE } from "../event-stream.ts";
import type { OpenStream } from "../open-streams.ts";
import { type DropReason, type WriteQueue, type WriteQueueLimits, SinkWriteQueue } from "../write-queue.ts";

export interface WebStreamOptions {
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
  readonly onEnd: () => void;
}

// What a socket's own buffer would take in: the client is not slow yet.
const BUFFERED = 65_536;

const encoder = new TextEncoder();

/** Events as the body of a web response: bounded, and told of a reader that does not read or has gone. */
export class WebStream implements Channel, OpenStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #queue: WriteQueue;
  readonly #gone = new AbortController();
  readonly #onEnd: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #flushed: () => void = () => undefined;
  #ended = false;

  constructor({ limits, clock, onDrop, onEnd }: WebStreamOptions) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#flushed(),
        cancel: () => this.lose(),
      },
      { highWaterMark: BUFFERED, size: (chunk) => chunk?.byteLength ?? 0 },
    );
    const sink = {
      write: (data: string | Uint8Array): void => {
        this.#controller?.enqueue(typeof data === "string" ? encoder.encode(data) : data);
      },
      queued: (): number => Math.max(0, -(this.#controller?.desiredSize ?? 0)),
      afterwards: (run: () => void): void => {
        this.#flushed = run;
      },
      destroy: (): void => {
        this.#controller?.error(new Error("The client does not read."));
        this.lose();
      },
    };
    this.#queue = new SinkWriteQueue(sink, { limits, clock, onDrop });
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  get ready(): boolean {
    return !this.#ended && this.#queue.ready;
  }

  onReady(run: () => void): () => void {
    return this.#queue.onReady(run);
  }

  send(text: string, eventId?: string, retryMs?: number, event?: string): void {
    if (!this.#ended) this.#queue.write(frameEvent(text, eventId, retryMs, event));
  }

  keepAlive(): void {
    if (this.ready) this.#queue.write(KEEP_ALIVE);
  }

  close(): void {
    if (this.#ended) return;
    this.#end();
    this.#controller?.close();
  }

  evict(): void {
    this.close();
    this.#gone.abort();
  }

  /** The reader has gone. */
  lose(): void {
    this.#end();
    this.#gone.abort();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#queue.end();
    this.#onEnd();
  }
}
