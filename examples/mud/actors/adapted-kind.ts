import type { Behaviour } from "troupe/contract";

/**
 * A kind whose state is adapted to the current world, since the file of the world may have changed after the state was stored. Every turn,
 * view and surface gets the adapted state; the next turn that writes stores it. `adapt` returns the same object if nothing changed.
 */
export function adaptedKind(kind: Behaviour<object>, adapt: (state: object) => object): Behaviour<object> {
  const cache = new WeakMap<object, object>();
  const adapted = (state: object): object => {
    let found = cache.get(state);
    if (found === undefined) {
      found = adapt(state);
      cache.set(state, found);
    }
    return found;
  };
  const view = kind.view?.bind(kind);
  const surface = kind.surface?.bind(kind);
  const result: Behaviour<object> = {
    ...kind,
    receive: (state, ...rest) => kind.receive(adapted(state), ...rest),
    ...(view !== undefined && { view: (state, ...rest) => view(adapted(state), ...rest) }),
    ...(surface !== undefined && { surface: (state, ...rest) => surface(adapted(state), ...rest) }),
  };
  return Object.freeze(result);
}
