// Owns: going on with a value that may be a promise. Nothing waits for a value that is there already, which saves a short call a good part
// of its time. The values after `next` are passed on to it, so that frequent paths need no closure.

type Step = (value: unknown, a?: unknown, b?: unknown, c?: unknown) => unknown;
type Context = readonly [unknown?, unknown?, unknown?];

/** Calls `next` with the value: at once, or when its promise has resolved. */
export function andThen<T, R, C extends Context>(
  value: T | Promise<T>,
  next: (value: T, ...context: C) => R | Promise<R>,
  ...context: C
): R | Promise<R>;
export function andThen(value: unknown, next: Step, a?: unknown, b?: unknown, c?: unknown): unknown {
  return value instanceof Promise ? later(value, next, undefined, a, b, c) : next(value, a, b, c);
}

/** The same; a promise that rejects goes to `failed`. What `next` throws does not. */
export function andThenElse<T, R, C extends Context>(
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
