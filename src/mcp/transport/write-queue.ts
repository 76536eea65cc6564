import type { Clock } from "../../core/contract/index.ts";

// Owns: back-pressure towards one client: what it has not read, for how long, and when it is dropped.
// Does not own: framing (lines.ts, event-stream.ts, websocket-connection.ts).

export interface WriteQueueLimits {
  /** A client that reads nothing for this long is dropped. Absent: never. */
  readonly blockedMs?: number;
  /** A client that lets more than this wait is dropped when the next message comes. */
  readonly queuedBytes: number;
}

export type DropReason = "blocked" | "queue-full";

/** What the outlets of a door share: there may be very many that do nothing. */
export interface WriteQueueOptions {
  readonly limits: WriteQueueLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/**
 * The way out to one client, which knows whether the client reads. What waits is
 * bounded: whoever does not read is dropped after a time or an amount (C8).
 */
export abstract class WriteQueue {
  readonly #door: WriteQueueOptions;
  #waiting: Set<() => void> | undefined;
  #over = false;
  #undoTimer: (() => void) | undefined;
  // While something waits: one function for all of it, since "drain" comes only from the high-water mark on.
  #flushed: (() => void) | undefined;

  constructor(door: WriteQueueOptions) {
    this.#door = door;
  }

  /** Hands it on to where bytes go: a socket, the standard output, a response. Neither this nor those below throw. */
  protected abstract put(data: string | Uint8Array): void;

  /** Bytes handed on that the operating system has not taken yet. */
  abstract get queued(): number;

  /** Runs it once what is queued now is out. Not part of `put`: a function with each costs a tick, and nearly all are out at once. */
  protected abstract afterwards(run: () => void): void;

  protected abstract destroy(): void;

  /** Nothing is written any more. */
  get over(): boolean {
    return this.#over;
  }

  get ready(): boolean {
    return !this.#over && this.#flushed === undefined && this.queued === 0;
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
    const { limits, clock } = this.#door;
    // What has come just now waits for nobody yet: a long answer is no sign that its client does not read.
    if (queued - Buffer.byteLength(data) > limits.queuedBytes) return this.#drop("queue-full");
    const waits = this.#flushed !== undefined;
    this.#flushed ??= () => this.#written();
    this.afterwards(this.#flushed);
    if (waits) return;
    const { blockedMs } = limits;
    if (blockedMs !== undefined) this.#undoTimer = clock.after(blockedMs, () => this.#drop("blocked"));
  }

  /** Nothing is written any more; what was may still take its time, not longer. */
  finish(): void {
    this.#over = true;
    this.#waiting = undefined;
  }

  /** The client has gone, or has all: frees everything. */
  end(): void {
    this.finish();
    this.#undoTimer?.();
    this.#undoTimer = undefined;
  }

  #written(): void {
    if (this.#flushed === undefined || this.queued > 0) return;
    this.#flushed = undefined;
    this.#undoTimer?.();
    this.#undoTimer = undefined;
    for (const run of Array.from(this.#waiting ?? [])) {
      if (!this.ready) return;
      run();
    }
  }

  #drop(reason: DropReason): void {
    this.end();
    // First: whoever hears of it may throw.
    this.destroy();
    this.#door.onDrop(reason);
  }
}

/** Where bytes go, of whatever kind. No method throws. */
export interface Sink {
  write(data: string | Uint8Array): void;
  /** Bytes accepted and not yet handed to the operating system. */
  queued(): number;
  /** Runs it once what is queued now is out. */
  afterwards(run: () => void): void;
  destroy(): void;
}

/** The way out to a sink. */
export class SinkWriteQueue extends WriteQueue {
  readonly #sink: Sink;

  constructor(sink: Sink, door: WriteQueueOptions) {
    super(door);
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
