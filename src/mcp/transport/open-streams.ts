// Owns: the open streams: how many each caller has, keep-alive, expiry of tokens, ending all. Does not own: their bytes.
import type { Caller, Clock } from "../../core/contract/index.ts";
import { isLocal, peerOf } from "../../core/contract/internal.ts";

export interface StreamLimits {
  /** Open streams in total. */
  readonly streams: number;
  /** Open streams of one principal, or of one peer without a principal. Loopback peers without one are not limited: all are one peer. */
  readonly streamsPerCaller: number;
  /** The interval between keep-alives of a stream. */
  readonly keepAliveMs: number;
}

/** A response that stays open. */
export interface OpenStream {
  /** Sends something that has no meaning, so that intermediaries do not close a silent connection. */
  keepAlive(): void;
  /** Ends the stream by the server's decision, and aborts its signal for the code that writes to it. */
  evict(): void;
}

/** Permission for open streams; all streams of one caller share one object. */
export interface StreamLease {
  readonly who: string;
  taken: number;
}

// Streams are visited in slices, so that ten thousand keep-alives do not block the event loop.
const SLICES = 32;

/** The open streams: counted per caller, with keep-alives, ended together. */
export class OpenStreams {
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #slices: Map<OpenStream, StreamLease>[] = Array.from({ length: SLICES }, () => new Map<OpenStream, StreamLease>());
  readonly #perCaller = new Map<string, StreamLease>();
  #size = 0;
  #next = 0;
  #visit = 0;
  #undoTimer: (() => void) | undefined;

  constructor(limits: StreamLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  get size(): number {
    return this.#size;
  }

  /** A lease for one more stream; undefined if there are too many. */
  admit({ principal, peer }: Caller): StreamLease | undefined {
    if (this.#size >= this.#limits.streams) return undefined;
    const unbounded = principal === undefined && (peer === undefined || isLocal(peer));
    const who = principal === undefined ? `peer ${peerOf(peer)}` : `principal ${principal}`;
    const lease = this.#perCaller.get(who) ?? { who, taken: 0 };
    if (!unbounded && lease.taken >= this.#limits.streamsPerCaller) return undefined;
    this.#perCaller.set(who, lease);
    lease.taken += 1;
    this.#size += 1;
    return lease;
  }

  /** Returns a lease: once for each `admit`. */
  leave(lease: StreamLease): void {
    this.#size -= 1;
    lease.taken -= 1;
    if (lease.taken === 0) this.#perCaller.delete(lease.who);
  }

  /** Keeps the stream alive until it is removed. */
  add(stream: OpenStream, lease: StreamLease): void {
    this.#slices[this.#next % SLICES]?.set(stream, lease);
    this.#next += 1;
    this.#undoTimer ??= this.#clock.after(this.#limits.keepAliveMs / SLICES, () => this.#sweep());
  }

  /** The stream has ended: returns its lease. */
  remove(stream: OpenStream): void {
    // Searched, which is rare: storing the slice would cost memory for each open stream.
    for (const slice of this.#slices) {
      const lease = slice.get(stream);
      if (lease === undefined) continue;
      slice.delete(stream);
      return this.leave(lease);
    }
  }

  endAll(): void {
    for (const slice of this.#slices) for (const stream of slice.keys()) stream.evict();
    this.#undoTimer?.();
    this.#undoTimer = undefined;
  }

  #sweep(): void {
    this.#undoTimer = undefined;
    const slice = this.#slices[this.#visit % SLICES];
    this.#visit += 1;
    for (const stream of slice?.keys() ?? []) stream.keepAlive();
    if (this.#slices.some((streams) => streams.size > 0)) {
      this.#undoTimer = this.#clock.after(this.#limits.keepAliveMs / SLICES, () => this.#sweep());
    }
  }
}

/** When a token expires, its stream ends: at once, or with its answer if that is pending. */
export class Expiry {
  readonly #stream: OpenStream;
  #answered = false;
  #expired = false;

  constructor(stream: OpenStream) {
    this.#stream = stream;
  }

  /** The handler has answered. Returns true if the token had expired before. */
  answered(): boolean {
    this.#answered = true;
    return this.#expired;
  }

  expire(): void {
    this.#expired = true;
    if (this.#answered) this.#stream.evict();
  }
}
