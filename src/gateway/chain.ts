/** One step of the way of a request: it adds to what is known, or throws a `Fault` and ends it. */
export type Step<In, Out> = (known: In) => Out | Promise<Out>;

/** Steps one after the other, each fed with what the one before it learnt. Waits only where a step does. */
export function chain<A, B, C, D>(one: Step<A, B>, two: Step<B, C>, three: Step<C, D>): Step<A, D>;
export function chain<A, B, C, D, E>(one: Step<A, B>, two: Step<B, C>, three: Step<C, D>, four: Step<D, E>): Step<A, E>;
export function chain<A, B, C, D, E, F>(
  one: Step<A, B>,
  two: Step<B, C>,
  three: Step<C, D>,
  four: Step<D, E>,
  five: Step<E, F>,
): Step<A, F>;
export function chain(...steps: readonly Step<unknown, unknown>[]): Step<unknown, unknown> {
  return (known) => run(steps, 0, known);
}

function run(steps: readonly Step<unknown, unknown>[], from: number, known: unknown): unknown {
  let value = known;
  for (let at = from; at < steps.length; at += 1) {
    value = steps[at]?.(value);
    if (value instanceof Promise) {
      const next = at + 1;
      return next === steps.length ? value : value.then((learnt: unknown) => run(steps, next, learnt));
    }
  }
  return value;
}
