// Owns: clock and randomness as interfaces, the system's own, jumps of the clock, cancellation, waiting for promises. Does not own: an
// actor's wakes (core/engine).

import { memoize } from "./collections.ts";
import type { EngineError } from "./errors.ts";

/** Time, injected: production has one, tests step another by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs once after `ms`; returns its undo. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
  /** Milliseconds of a monotonic clock, which stops while the machine sleeps. Absent: jumps of `now()` are not noticed. */
  elapsed?(): number;
}

/** Randomness and ids, injected. */
export interface Entropy {
  /** Lower-case hex of that many random bytes. */
  hex(bytes: number): string;
  uuid(): string;
}

// Timers take a signed 32-bit number of milliseconds: a longer one would fire at once.
const LONGEST_MS = 2_147_483_647;

/** The clock of this process. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, run) {
    if (ms > LONGEST_MS) {
      let undo = systemClock.after(LONGEST_MS, () => {
        undo = systemClock.after(ms - LONGEST_MS, run);
      });
      return () => undo();
    }
    const timer = setTimeout(run, ms);
    // A browser's timer is a number and has no `unref`.
    if (typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};

// Requesting 16 bytes at a time from the system costs more than a turn, and encoding them a tenth of one, so both are done in
// batches. Batches of text are small, because a slice keeps the whole text in memory.
const AT_ONCE = 256;
const pool = new Uint8Array(64 * AT_ONCE);
let drawn = pool.length;
let text = "";
let cut = 0;
// Node's Buffer encodes hex many times faster; browsers have none.
const pooled = typeof Buffer === "undefined" ? undefined : Buffer.from(pool.buffer);

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function moreText(): string {
  if (drawn === pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  const from = drawn;
  drawn += AT_ONCE;
  return pooled === undefined ? hexOf(pool.subarray(from, drawn)) : pooled.toString("hex", from, drawn);
}

/** The random source of this process (Web Crypto). */
export const systemEntropy: Entropy = {
  hex(bytes) {
    if (bytes > AT_ONCE) return hexOf(crypto.getRandomValues(new Uint8Array(bytes)));
    const from = cut;
    cut += 2 * bytes;
    if (cut <= text.length) return text.slice(from, cut);
    text = moreText();
    cut = 2 * bytes;
    return text.slice(0, cut);
  },
  uuid: () => crypto.randomUUID(),
};

/** NTP corrects by less all the time, and by slewing both clocks. */
const SMALLEST_JUMP_MS = 5_000;

/**
 * Jumps of the wall clock, found by comparing it with the monotonic one.
 *
 * A clock that is wrong for a moment must not end actors and sessions or forget keys, which cannot be undone. So such decisions use
 * `settledNow`: after a jump forward it stays behind by the size of the jump, until the new time has lasted as long.
 */
class ClockJumps {
  readonly listeners = new Set<(ms: number) => void>();
  readonly #clock: Clock;
  /** Wall time less monotonic time: constant unless the clock is set. */
  #offset: number | undefined;
  #heldBackMs = 0;
  #jumpedAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  settledNow(): number {
    const now = this.#clock.now();
    const elapsed = this.#clock.elapsed?.();
    if (elapsed === undefined) return now;
    const jump = this.#offset === undefined ? 0 : now - elapsed - this.#offset;
    this.#offset = now - elapsed;
    if (Math.abs(jump) >= SMALLEST_JUMP_MS) {
      this.#heldBackMs = Math.max(0, this.#heldBackMs + jump);
      this.#jumpedAt = elapsed;
      for (const listener of this.listeners) listener(jump);
    } else if (elapsed - this.#jumpedAt >= this.#heldBackMs) this.#heldBackMs = 0;
    return now - this.#heldBackMs;
  }
}

const jumpsOf = memoize((clock: Clock) => new ClockJumps(clock));

/** The time for decisions that cannot be undone: `now()`, or earlier by the size of a jump forward that has not lasted as long yet. */
export const settledNow = (clock: Clock): number => jumpsOf(clock).settledNow();

/** Calls back with each jump in milliseconds, negative for one back, at most `everyMs` after it. Returns its undo. */
export function watchClock(clock: Clock, everyMs: number, onJump: (ms: number) => void): () => void {
  const jumps = jumpsOf(clock);
  jumps.listeners.add(onJump);
  const look = (): (() => void) =>
    clock.after(everyMs, () => {
      jumps.settledNow();
      undo = look();
    });
  jumps.settledNow();
  let undo = look();
  return () => {
    undo();
    jumps.listeners.delete(onJump);
  };
}

export const ON_TIMEOUT = Symbol("onTimeout");

/** A run with a time limit. Its creator calls the listener on timeout; a listener on its signal would cost each run more. */
export interface Timeoutable {
  [ON_TIMEOUT]: ((error: EngineError) => void) | undefined;
}

/** Calls `listener` when the run times out, whatever its handler does then. */
export function onTimeout(run: object, listener: (error: EngineError) => void): void {
  if (ON_TIMEOUT in run) run[ON_TIMEOUT] = listener;
}

/**
 * Signals that a caller has cancelled or left. An `AbortSignal` is one; transports make lighter ones, since each call gets one and
 * few are cancelled.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  /** The listener is not called if the signal is aborted already. */
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A flag and its listeners. An `AbortController` would cost as much as a turn. */
export class Cancellation implements CancelSignal {
  #aborted = false;
  /** Most signals have at most one listener. */
  #first: (() => void) | undefined;
  #others: readonly (() => void)[] | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  /** Calls all listeners, then rethrows the first error that one threw. */
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

/** Converts to an `AbortSignal`, for APIs that need one. */
export function abortSignalOf(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener("abort", () => controller.abort(), { once: true });
  return controller.signal;
}

/** Settles as `run` does, or rejects with the signal's reason as soon as that is aborted, even if `run` ignores the signal. */
export async function untilAborted<T>(signal: AbortSignal, run: () => T | PromiseLike<T>): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  // If `run` throws synchronously, the promise is never awaited: avoid an unhandled rejection.
  promise.catch(() => undefined);
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([run(), promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Settles like `promise`, but after `ms` like `fallback`, which may throw. */
export async function withTimeout<T, L>(clock: Clock, ms: number, promise: Promise<T>, fallback: () => L): Promise<T | L> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const undo = clock.after(ms, resolve);
  try {
    return await Promise.race([promise, timeout.then(fallback)]);
  } finally {
    undo();
  }
}

/** A time limit for people and models: `55 s`, or `1500 ms` where it is no whole number of seconds. */
export const inWords = (ms: number): string => (ms >= 1_000 && ms % 1_000 === 0 ? `${ms / 1_000} s` : `${ms} ms`);

type Step = (value: unknown, a?: unknown, b?: unknown, c?: unknown) => unknown;
type Passed = readonly [unknown?, unknown?, unknown?];

/**
 * Calls `next` with the value: at once, or when its promise has resolved. Nothing waits for a value that is there already, which saves a
 * short call a good part of its time. The values after `next` are passed on to it, so that frequent paths need no closure.
 */
export function andThen<T, R, C extends Passed>(
  value: T | Promise<T>,
  next: (value: T, ...context: C) => R | Promise<R>,
  ...context: C
): R | Promise<R>;
export function andThen(value: unknown, next: Step, a?: unknown, b?: unknown, c?: unknown): unknown {
  return value instanceof Promise ? later(value, next, undefined, a, b, c) : next(value, a, b, c);
}

/** The same; a promise that rejects goes to `failed`. What `next` throws does not. */
export function andThenElse<T, R, C extends Passed>(
  value: T | Promise<T>,
  next: (value: T, ...context: C) => R | Promise<R>,
  failed: (error: unknown, ...context: C) => R | Promise<R>,
  ...context: C
): R | Promise<R>;
export function andThenElse(value: unknown, next: Step, failed: Step, a?: unknown, b?: unknown, c?: unknown): unknown {
  return value instanceof Promise ? later(value, next, failed, a, b, c) : next(value, a, b, c);
}

function later(value: Promise<unknown>, step: Step, failed: Step | undefined, a: unknown, b: unknown, c: unknown): Promise<unknown> {
  return value.then((one) => step(one, a, b, c), failed && ((error: unknown) => failed(error, a, b, c)));
}
