import type { Clock, Dirty, OfferRef, Viewer } from "../../core/contract/index.ts";
import type { StateCell } from "./states.ts";

export interface SubscriberOptions {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  /** Of this offer only, and not of the lists. */
  readonly only: OfferRef | undefined;
  /** Of the contents of all, where it is not of one only. */
  readonly contents: boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly cells: () => ReadonlyMap<OfferRef, StateCell>;
}

/**
 * Who is told of changes, as flags (C8). Of one state at most once in an interval, then of what is left to tell: a value
 * that is back to what it was is not told at all.
 */
export class Subscriber {
  readonly viewer: Viewer;
  readonly #options: SubscriberOptions;
  /** State → the revision that was told, or held from the start. */
  readonly #told = new Map<OfferRef, number>();
  readonly #quietUntil = new Map<OfferRef, number>();
  readonly #late = new Set<OfferRef>();
  #undoTimer: (() => void) | undefined;

  constructor(options: SubscriberOptions) {
    this.viewer = options.viewer;
    this.#options = options;
    for (const [ref, cell] of options.cells()) if (this.#wants(ref)) this.#told.set(ref, cell.look().revision);
  }

  /** Something may have changed; the lists did if `lists`. */
  hear(lists: boolean): void {
    const { only, dirty } = this.#options;
    if (lists && only === undefined) dirty();
    for (const ref of this.#refs()) this.#consider(ref, true);
  }

  /** Tells at once what waits for its interval to end. */
  release(): void {
    for (const ref of this.#late) this.#consider(ref, false);
  }

  close(): void {
    this.#undoTimer?.();
    this.#late.clear();
    this.#told.clear();
  }

  *#refs(): Generator<OfferRef> {
    const { cells, only, contents } = this.#options;
    if (only !== undefined) yield only;
    if (only !== undefined || !contents) return;
    const now = cells();
    yield* now.keys();
    for (const ref of this.#told.keys()) if (!now.has(ref)) yield ref;
  }

  #wants(ref: OfferRef): boolean {
    const { only, contents } = this.#options;
    return only === undefined ? contents : only === ref;
  }

  #consider(ref: OfferRef, mayWait: boolean): void {
    const { cells, clock, intervalMs, dirty } = this.#options;
    const leftMs = (this.#quietUntil.get(ref) ?? 0) - clock.now();
    // More than an interval is left only where the clock was set back.
    if (mayWait && leftMs > 0 && leftMs <= intervalMs) {
      this.#late.add(ref);
      this.#wake();
      return;
    }
    this.#late.delete(ref);
    this.#quietUntil.delete(ref);
    const revision = cells().get(ref)?.look().revision;
    if (revision === this.#told.get(ref)) return;
    if (revision === undefined) this.#told.delete(ref);
    else {
      this.#told.set(ref, revision);
      if (intervalMs > 0) this.#quietUntil.set(ref, clock.now() + intervalMs);
    }
    dirty(ref);
  }

  #wake(): void {
    if (this.#undoTimer !== undefined) return;
    const { clock } = this.#options;
    const soonest = Math.min(...[...this.#late].map((ref) => this.#quietUntil.get(ref) ?? 0));
    this.#undoTimer = clock.after(Math.max(0, soonest - clock.now()), () => {
      this.#undoTimer = undefined;
      for (const ref of this.#late) this.#consider(ref, true);
    });
  }
}
