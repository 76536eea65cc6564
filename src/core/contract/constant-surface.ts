import type { Behaviour } from "./actor.ts";

// By the function, not by a member of its kind: whoever spreads a kind and gives it another `surface` has none that is constant.
const constant = new WeakSet<object>();

/** Of a `surface` that is the same in every state, for every viewer, and has no links. Gives it back. */
export function constantly<F extends object>(surface: F): F {
  constant.add(surface);
  return surface;
}

/** What the kind shows nothing can change: it need be asked for once only. */
export function isConstant({ surface }: Pick<Behaviour, "surface">): boolean {
  return surface !== undefined && constant.has(surface);
}
