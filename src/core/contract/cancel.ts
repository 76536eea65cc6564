/**
 * Tells that a caller has left. Every `AbortSignal` does; doors make lighter ones, since each call
 * gets one and nearly none is cancelled.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  /** Not called where it is aborted already. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** The lightest: a flag, and whoever listens. A whole `AbortController` costs as much as a turn. */
export class Cancellation implements CancelSignal {
  #aborted = false;
  /** Nearly always one at most. */
  #first: (() => void) | undefined;
  #others: readonly (() => void)[] | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Throws what the first listener threw, once all have been told. */
  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    const [first, others] = [this.#first, this.#others];
    this.#first = this.#others = undefined;
    if (first === undefined) return;
    if (others === undefined) return first();
    const thrown: unknown[] = [];
    for (const listener of [first, ...others]) {
      try {
        listener();
      } catch (error) {
        thrown.push(error);
      }
    }
    if (thrown.length > 0) throw thrown[0];
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (this.#aborted) return;
    if (this.#first === undefined) this.#first = listener;
    else this.#others = [...(this.#others ?? []), listener];
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    if (this.#first === listener) this.#first = undefined;
    else this.#others = this.#others?.filter((one) => one !== listener);
  }
}

/** The same as an `AbortSignal`, for whoever needs a whole one. */
export function abortSignalOf(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort(), { once: true });
  return controller.signal;
}

/** What runs, or the signal's reason where that comes first: what does not heed a signal is waited for no longer. */
export async function untilAborted<T>(signal: AbortSignal, run: () => T | PromiseLike<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  // Where `run` throws at once, nobody waits for it.
  promise.catch(() => undefined);
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([run(), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
