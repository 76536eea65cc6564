import type { Caller, Clock } from "../contract/index.ts";

export interface StreamLimits {
  /** Open streams altogether. */
  readonly streams: number;
  /** Open streams of one principal, or of one peer without any. */
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

// Streams are visited in slices, so that ten thousand of them never stall the loop at once.
const SLICES = 32;

/** The streams that are open: counted per caller, kept alive, ended together. */
export class OpenStreams {
  readonly #limits: StreamLimits;
  readonly #clock: Clock;
  readonly #slices: Set<OpenStream>[] = Array.from({ length: SLICES }, () => new Set<OpenStream>());
  readonly #perCaller = new Map<string, number>();
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

  /** Takes a seat for one stream; returns how to give it back, or nothing when there is none left. */
  admit(caller: Caller, unbounded: boolean): (() => void) | undefined {
    if (this.#size >= this.#limits.streams) return undefined;
    const who = caller.principal === undefined ? `peer ${caller.peer ?? ""}` : `principal ${caller.principal}`;
    const count = this.#perCaller.get(who) ?? 0;
    if (!unbounded && count >= this.#limits.streamsPerCaller) return undefined;
    this.#perCaller.set(who, count + 1);
    this.#size += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#size -= 1;
      const left = (this.#perCaller.get(who) ?? 1) - 1;
      if (left === 0) this.#perCaller.delete(who);
      else this.#perCaller.set(who, left);
    };
  }

  /** Keeps the stream alive until undone. */
  add(stream: OpenStream): () => void {
    const slice = this.#slices[this.#next % SLICES];
    this.#next += 1;
    slice?.add(stream);
    this.#undoTimer ??= this.#clock.after(this.#limits.keepAliveMs / SLICES, () => this.#sweep());
    return () => void slice?.delete(stream);
  }

  endAll(): void {
    for (const slice of this.#slices) for (const stream of slice) stream.evict();
    this.#undoTimer?.();
    this.#undoTimer = undefined;
  }

  #sweep(): void {
    this.#undoTimer = undefined;
    const slice = this.#slices[this.#visit % SLICES];
    this.#visit += 1;
    for (const stream of slice ?? []) stream.keepAlive();
    if (this.#slices.some((streams) => streams.size > 0)) {
      this.#undoTimer = this.#clock.after(this.#limits.keepAliveMs / SLICES, () => this.#sweep());
    }
  }
}
