// Owns: back-pressure towards one client of a stream: what it has not read, for how long, and when it is dropped.
// Does not own: framing (lines.ts, event-stream.ts, websocket-connection.ts), plain HTTP responses (pending-responses.ts).
import type { Channel, Clock } from "../../core/contract/index.ts";

export interface WriteQueueLimits {
  /** A client that takes longer than this to read a MiB, or the last part of one, is dropped. Absent: never. */
  readonly blockedMs?: number;
  /** A client that lets more than this wait is dropped when the next message comes. */
  readonly queuedBytes: number;
}

export type DropReason = "blocked" | "queue-full";

const MIB = 1_048_576;

/** How long a client may take to read that many bytes: `blockedMs` for each MiB begun, so that a large reply reaches a slow client, too. */
export const timeToRead = (bytes: number, blockedMs: number): number => Math.max(1, Math.ceil(bytes / MIB)) * blockedMs;

/** Shared by all queues of one transport, since there may be very many idle ones. */
export interface WriteQueueOptions {
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/** Output to one client, which tracks whether the client reads. One that does not is dropped after a time or a number of bytes (C8). */
export abstract class WriteQueue {
  readonly #options: WriteQueueOptions;
  #waiting: Set<() => void> | undefined;
  #over = false;
  #undoTimer: (() => void) | undefined;
  // Set while bytes wait. Not the "drain" event, which comes only above the high-water mark.
  #onFlushed: (() => void) | undefined;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
  }

  /** Writes to the destination: a socket, the standard output, a response. This and the methods below do not throw. */
  protected abstract put(data: string | Uint8Array): void;

  /** Bytes that the operating system has not taken yet. */
  abstract get queued(): number;

  /** Calls `run` once the bytes queued now are written. Not part of `put`: a callback costs a tick, and most writes finish at once. */
  protected abstract afterwards(run: () => void): void;

  protected abstract destroy(): void;

  /** Nothing is written any more. */
  get over(): boolean {
    return this.#over;
  }

  get ready(): boolean {
    return !this.#over && this.#onFlushed === undefined && this.queued === 0;
  }

  onReady(run: () => void): () => void {
    this.#waiting ??= new Set();
    this.#waiting.add(run);
    return () => void this.#waiting?.delete(run);
  }

  write(data: string | Uint8Array): void {
    if (this.#over) return;
    this.put(data);
    const { queued } = this;
    if (queued === 0) return;
    const { limits } = this.#options;
    // The present data is not counted: a long answer does not mean that its client does not read.
    if (queued - Buffer.byteLength(data) > limits.queuedBytes) return this.#drop("queue-full");
    const waits = this.#onFlushed !== undefined;
    this.#onFlushed ??= () => this.#written();
    this.afterwards(this.#onFlushed);
    if (!waits) this.#startTimer();
  }

  /** Accepts no more data; what was written may still be read within `blockedMs`. */
  finish(): void {
    this.#over = true;
    this.#waiting = undefined;
  }

  /** The client has disconnected, or has read everything: frees all resources. */
  end(): void {
    this.finish();
    this.#stopTimer();
    this.#onFlushed = undefined;
  }

  #written(): void {
    if (this.#onFlushed === undefined) return;
    this.#stopTimer();
    // The client reads, if slowly: the rest has its own time.
    if (this.queued > 0) return this.#startTimer();
    this.#onFlushed = undefined;
    for (const run of Array.from(this.#waiting ?? [])) {
      if (!this.ready) return;
      run();
    }
  }

  #startTimer(): void {
    const { limits, clock } = this.#options;
    const { blockedMs } = limits;
    if (blockedMs !== undefined) this.#undoTimer = clock.after(timeToRead(this.queued, blockedMs), () => this.#drop("blocked"));
  }

  #stopTimer(): void {
    this.#undoTimer?.();
    this.#undoTimer = undefined;
  }

  #drop(reason: DropReason): void {
    this.end();
    // First, since the listener may throw.
    this.destroy();
    this.#options.onDrop(reason);
  }
}

/** A destination of bytes. No method throws. */
export interface Sink {
  write(data: string | Uint8Array): void;
  /** Bytes accepted and not yet handed to the operating system. */
  queued(): number;
  /** Calls `run` once the bytes queued now are written. */
  afterwards(run: () => void): void;
  destroy(): void;
}

/** A queue in front of a sink. */
export class SinkWriteQueue extends WriteQueue {
  readonly #sink: Sink;

  constructor(sink: Sink, options: WriteQueueOptions) {
    super(options);
    this.#sink = sink;
  }

  protected override put(data: string | Uint8Array): void {
    this.#sink.write(data);
  }

  override get queued(): number {
    return this.#sink.queued();
  }

  protected override afterwards(run: () => void): void {
    this.#sink.afterwards(run);
  }

  protected override destroy(): void {
    this.#sink.destroy();
  }
}

/** A channel whose messages go to a write queue. Subclasses frame and end them. */
export abstract class QueueChannel implements Channel {
  protected readonly queue: WriteQueue;
  /** Nothing is sent any more. */
  protected ended = false;
  readonly #disconnected = new AbortController();

  constructor(queue: WriteQueue) {
    this.queue = queue;
  }

  abstract send(text: string): void;
  abstract close(): void;

  /** Aborted when the client has disconnected. */
  get disconnected(): AbortSignal {
    return this.#disconnected.signal;
  }

  get ready(): boolean {
    return !this.ended && this.queue.ready;
  }

  /** Bytes that wait for the client to read. */
  get queued(): number {
    return this.queue.queued;
  }

  onReady(run: () => void): () => void {
    return this.queue.onReady(run);
  }

  /** The client has disconnected. */
  lose(): void {
    this.ended = true;
    this.queue.end();
    this.#disconnected.abort();
  }
}
