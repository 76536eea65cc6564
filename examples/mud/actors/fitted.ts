import type { Behaviour } from "troupe/contract";

/**
 * The same kind, for a world whose file may have changed since a state was written: every turn, view and surface finds
 * the state as `fit` leaves it, which the next turn that writes keeps. `fit` returns what it is given where that fits.
 */
export function fitted(kind: Behaviour<object>, fit: (state: object) => object): Behaviour<object> {
  const known = new WeakMap<object, object>();
  const fits = (state: object): object => {
    let found = known.get(state);
    if (found === undefined) {
      found = fit(state);
      known.set(state, found);
    }
    return found;
  };
  const view = kind.view?.bind(kind);
  const surface = kind.surface?.bind(kind);
  const made: Behaviour<object> = {
    ...kind,
    receive: (state, message, life, seq, uid) => kind.receive(fits(state), message, life, seq, uid),
    ...(view !== undefined && { view: (state, action, args, viewer, self) => view(fits(state), action, args, viewer, self) }),
    ...(surface !== undefined && { surface: (state, viewer, onFault) => surface(fits(state), viewer, onFault) }),
  };
  return Object.freeze(made);
}
