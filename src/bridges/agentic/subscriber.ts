// Owns: which changes one viewer is notified of, and how often. Does not own: noticing them (service-source.ts, states.ts).
import type { Clock, Dirty, OfferRef, Viewer } from "../../core/contract/index.ts";
import type { StateCell } from "./states.ts";

interface SubscriberOptions {
  readonly viewer: Viewer;
  readonly dirty: Dirty;
  /** Only changes of this offer, and none of the lists. */
  readonly only: OfferRef | undefined;
  /** Changes of all states, if `only` is undefined. */
  readonly contents: boolean;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly cells: () => ReadonlyMap<OfferRef, StateCell>;
}

/**
 * Notifies one viewer of changes, as dirty flags (C8). Each state is flagged at most once per interval. At its end, a state whose value
 * is again the one that was reported last is not flagged.
 */
export class Subscriber {
  readonly viewer: Viewer;
  readonly #options: SubscriberOptions;
  /** State → the revision that was reported last, or was current at the start. */
  readonly #reported = new Map<OfferRef, number>();
  readonly #quietUntil = new Map<OfferRef, number>();
  /** States that wait for their interval to end. */
  readonly #delayed = new Set<OfferRef>();
  #undoTimer: (() => void) | undefined;

  constructor(options: SubscriberOptions) {
    this.viewer = options.viewer;
    this.#options = options;
    for (const [ref, cell] of options.cells()) if (this.#wants(ref)) this.#reported.set(ref, cell.snapshot().revision);
  }

  /** Call it when states may have changed. `lists`: the lists have. */
  notify(lists: boolean): void {
    const { only, dirty } = this.#options;
    if (lists && only === undefined) dirty();
    for (const ref of this.#refs()) this.#check(ref, true);
  }

  /** Flags at once what waits for its interval to end. */
  flush(): void {
    for (const ref of this.#delayed) this.#check(ref, false);
  }

  close(): void {
    this.#undoTimer?.();
    this.#delayed.clear();
    this.#reported.clear();
  }

  *#refs(): Generator<OfferRef> {
    const { cells, only, contents } = this.#options;
    if (only !== undefined) yield only;
    if (only !== undefined || !contents) return;
    const now = cells();
    yield* now.keys();
    for (const ref of this.#reported.keys()) if (!now.has(ref)) yield ref;
  }

  #wants(ref: OfferRef): boolean {
    const { only, contents } = this.#options;
    return only === undefined ? contents : only === ref;
  }

  #check(ref: OfferRef, mayWait: boolean): void {
    const { cells, clock, intervalMs, dirty } = this.#options;
    const leftMs = (this.#quietUntil.get(ref) ?? 0) - clock.now();
    // More than an interval is left only if the clock was set back.
    if (mayWait && leftMs > 0 && leftMs <= intervalMs) {
      this.#delayed.add(ref);
      this.#schedule();
      return;
    }
    this.#delayed.delete(ref);
    this.#quietUntil.delete(ref);
    const revision = cells().get(ref)?.snapshot().revision;
    if (revision === this.#reported.get(ref)) return;
    if (revision === undefined) this.#reported.delete(ref);
    else {
      this.#reported.set(ref, revision);
      if (intervalMs > 0) this.#quietUntil.set(ref, clock.now() + intervalMs);
    }
    dirty(ref);
  }

  #schedule(): void {
    if (this.#undoTimer !== undefined) return;
    const { clock } = this.#options;
    const soonest = Math.min(...[...this.#delayed].map((ref) => this.#quietUntil.get(ref) ?? 0));
    this.#undoTimer = clock.after(Math.max(0, soonest - clock.now()), () => {
      this.#undoTimer = undefined;
      for (const ref of this.#delayed) this.#check(ref, true);
    });
  }
}
