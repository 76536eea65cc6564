import type { Clock } from "../contract/index.ts";

/** Where bytes go: a socket, the standard output, a response. No method throws. */
export interface Sink {
  write(data: string | Uint8Array): void;
  /** Bytes accepted and not yet handed to the operating system. */
  queued(): number;
  /** Runs it once what is queued now is out. Not part of a write: a function with each costs a tick, and nearly all are out at once. */
  afterwards(run: () => void): void;
  destroy(): void;
}

export interface OutletLimits {
  /** A client that reads nothing for this long is dropped. Absent: never. */
  readonly blockedMs?: number;
  /** A client that lets more than this wait is dropped. */
  readonly queuedBytes: number;
}

export type DropReason = "blocked" | "queue-full";

/** What the outlets of a door share: there may be very many that do nothing. */
export interface OutletDoor {
  readonly limits: OutletLimits;
  readonly clock: Clock;
  readonly onDrop: (reason: DropReason) => void;
}

/**
 * The way out to one client, which knows whether the client reads. What waits is
 * bounded: whoever does not read is dropped after a time or an amount (C8).
 */
export class Outlet {
  readonly #sink: Sink;
  readonly #door: OutletDoor;
  #waiting: Set<() => void> | undefined;
  #over = false;
  #undoTimer: (() => void) | undefined;
  // While something waits: one function for all of it, since "drain" comes only from the high-water mark on.
  #flushed: (() => void) | undefined;

  constructor(sink: Sink, door: OutletDoor) {
    this.#sink = sink;
    this.#door = door;
  }

  get ready(): boolean {
    return !this.#over && this.#flushed === undefined && this.#sink.queued() === 0;
  }

  get queued(): number {
    return this.#sink.queued();
  }

  onReady(run: () => void): () => void {
    this.#waiting ??= new Set();
    this.#waiting.add(run);
    return () => void this.#waiting?.delete(run);
  }

  write(data: string | Uint8Array): void {
    if (this.#over) return;
    this.#sink.write(data);
    const queued = this.#sink.queued();
    if (queued === 0) return;
    const { limits, clock } = this.#door;
    if (queued > limits.queuedBytes) return this.#drop("queue-full");
    const waits = this.#flushed !== undefined;
    this.#flushed ??= () => this.#written();
    this.#sink.afterwards(this.#flushed);
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
    if (this.#flushed === undefined || this.#sink.queued() > 0) return;
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
    this.#door.onDrop(reason);
    this.#sink.destroy();
  }
}
