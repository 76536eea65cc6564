import type { Channel } from "../../core/contract/index.ts";

/** One event of an event stream. */
export interface Frame {
  readonly id?: string;
  /** Absent: `message`. */
  readonly event?: string;
  /** Empty in the event that primes a stream. */
  readonly data: string;
}

/** The client's end of an event stream in this process: what came is kept until it is read. */
export class Frames implements Channel, AsyncIterable<Frame> {
  /** All that came so far, in order. */
  readonly all: Frame[] = [];
  readonly #onFrame: (frame: Frame) => void;
  readonly #ready = new Set<() => void>();
  readonly #disconnected = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #over = Promise.withResolvers<void>();
  #paused = false;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  get ready(): boolean {
    return !this.#paused && !this.ended;
  }

  get disconnected(): AbortSignal {
    return this.#disconnected.signal;
  }

  /** Settles when nothing more will come. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  get ended(): boolean {
    return this.#ended || this.#disconnected.signal.aborted;
  }

  onReady(run: () => void): () => void {
    this.#ready.add(run);
    return () => void this.#ready.delete(run);
  }

  send(text: string, eventId?: string, _retryMs?: number, event?: string): void {
    if (this.ended) return;
    const frame: Frame = {
      ...(eventId === undefined ? undefined : { id: eventId }),
      ...(event === undefined ? undefined : { event }),
      data: text,
    };
    this.all.push(frame);
    this.#onFrame(frame);
    this.#wake();
  }

  close(): void {
    this.#ended = true;
    this.#over.resolve();
    this.#wake();
  }

  /** The server broke off: who reads gets what came, then the error. */
  fail(error: unknown): void {
    if (this.ended) return;
    this.#failure = { error };
    this.close();
  }

  /** The client closes its connection. */
  leave(): void {
    if (this.ended) return;
    this.#disconnected.abort();
    this.#over.resolve();
    this.#wake();
  }

  /** Like a client that does not read: the server sees its stream as not ready until `unpause`. */
  pause(): void {
    this.#paused = true;
  }

  unpause(): void {
    this.#paused = false;
    for (const run of Array.from(this.#ready)) run();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void> {
    for (let at = 0; ; at += 1) {
      while (at >= this.all.length && !this.ended) await this.#more();
      const next = this.all[at];
      if (next === undefined) break;
      yield next;
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const run of this.#waiting) run();
    this.#waiting.clear();
  }
}
