import {
  type JsonObject,
  type CallOptions,
  type Clock,
  EngineError,
  type Offer,
  type OfferRef,
  type Reply,
} from "../../core/contract/index.ts";
import { keysIn, waitForChange } from "./own-offers.ts";
import type { States } from "./states.ts";

const LONGEST_MS = 55_000;
const USUAL_MS = 30_000;

export interface ChangeWaitsOptions {
  readonly states: States;
  readonly clock: Clock;
  readonly maxMs: number | undefined;
  /** States that are longer are named only. */
  readonly pageLength: number;
  /** Where the caller names no states. */
  readonly wants: (ref: OfferRef) => boolean;
}

/** Calls that wait for a change. */
export class ChangeWaits {
  readonly offer: Offer;
  readonly #options: ChangeWaitsOptions;
  readonly #usualMs: number;
  readonly #waiting = new Set<() => void>();
  #tools: { readonly names: readonly string[]; readonly revision: number } = { names: [], revision: 0 };
  #closed = false;

  constructor(options: ChangeWaitsOptions) {
    const { maxMs = LONGEST_MS } = options;
    this.#options = options;
    this.#usualMs = Math.min(USUAL_MS, maxMs);
    this.offer = waitForChange(maxMs, this.#usualMs);
  }

  hearTools(tools: readonly Offer[], revision: number): void {
    this.#tools = { names: tools.map(({ name }) => name), revision };
  }

  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Those that wait are answered as if their time were over. */
  close(): void {
    this.#closed = true;
    this.wake();
  }

  async run({ keys, timeout, since: earlier }: JsonObject, options: CallOptions): Promise<Reply> {
    const { clock, states, wants, pageLength } = this.#options;
    const wanted = keysIn(keys);
    const now = states.now();
    // Of a server that ran before, with a later clock: whatever is now may be new.
    const since = typeof earlier !== "number" ? now : earlier > now ? 0 : earlier;
    const until = clock.now() + (typeof timeout === "number" ? timeout : this.#usualMs);
    while (!this.#closed) {
      const changes = states.since(since, wanted === undefined ? wants : (ref) => wanted.has(ref), pageLength);
      const tools = wanted === undefined && this.#tools.revision > since ? { tools: this.#tools.names } : undefined;
      if (changes !== undefined || tools !== undefined) {
        // What changes while Blobs are read comes with the next call.
        const upTo = states.now();
        return { ok: { ...((await changes) ?? { changed: {} }), ...tools, timedOut: false, since: upTo } };
      }
      const left = until - clock.now();
      if (left <= 0) break;
      await this.#change(left, options);
    }
    return { ok: { changed: {}, timedOut: true, since: states.now() } };
  }

  /** Settles with the next change, after `ms`, or at the end. Throws `CANCELLED`. */
  async #change(ms: number, { signal }: CallOptions): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const undo = this.#options.clock.after(ms, resolve);
    this.#waiting.add(resolve);
    signal?.addEventListener("abort", resolve, { once: true });
    await promise;
    undo();
    this.#waiting.delete(resolve);
    signal?.removeEventListener("abort", resolve);
    if (signal?.aborted === true) throw new EngineError("CANCELLED", "The wait was cancelled; nothing was changed by it.");
  }
}
