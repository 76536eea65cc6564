import type { Caller, Clock } from "../../core/contract/index.ts";
import { peerOf } from "../../core/contract/internal.ts";
import { isLoopback } from "./address.ts";

// Owns: which streams are open: how many of each caller, keep-alive, expiry of tokens, ending all. Does not own: their bytes.

export interface StreamLimits {
  /** Open streams altogether. */
  readonly streams: number;
  /** Open streams of one principal, or of one peer without any. Not of this machine's own without any: all of them are one peer. */
  readonly streamsPerCaller: number;
  /** Each stream is kept alive this often. */
  readonly keepAliveMs: number;
}

/** A response that goes on. */
export interface OpenStream {
  /** Shows whoever is between here and the client that the silence is no end. */
  keepAlive(): void;
  /** Ends it by the server's own decision: whoever feeds the stream learns that it is gone. */
  evict(): void;
}

/** A stream's leave to be open: the same for all of its caller. */
export interface StreamLease {
  readonly who: string;
  taken: number;
}

// Streams are visited in slices, so that ten thousand of them never stall the loop at once.
const SLICES = 32;

/** The streams that are open: counted per caller, kept alive, ended together. */
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

  /** Takes a lease for one stream; undefined when there is none left. */
  admit({ principal, peer }: Caller): StreamLease | undefined {
    if (this.#size >= this.#limits.streams) return undefined;
    const unbounded = principal === undefined && (peer === undefined || isLoopback(peer));
    const who = principal === undefined ? `peer ${peerOf(peer)}` : `principal ${principal}`;
    const lease = this.#perCaller.get(who) ?? { who, taken: 0 };
    if (!unbounded && lease.taken >= this.#limits.streamsPerCaller) return undefined;
    this.#perCaller.set(who, lease);
    lease.taken += 1;
    this.#size += 1;
    return lease;
  }

  /** Gives it back: once for each that was taken. */
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

  /** It is over, and gives its lease back. */
  remove(stream: OpenStream): void {
    // Looked for, which is rare, and not remembered, which every stream that is open would pay for.
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

/** A token that expires opens nothing more: a stream ends, or ends with its answer where that is still due. */
export class Expiry {
  readonly #stream: OpenStream;
  #answered = false;
  #over = false;

  constructor(stream: OpenStream) {
    this.#stream = stream;
  }

  /** The handler is done. True: the token was over before. */
  answered(): boolean {
    this.#answered = true;
    return this.#over;
  }

  expire(): void {
    this.#over = true;
    if (this.#answered) this.#stream.evict();
  }
}
