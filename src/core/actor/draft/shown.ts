const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** `target`, by which Node shows a proxy in logs, past all it stands for: told to show that instead. */
export function shown<T extends object>(target: T): T {
  return Object.defineProperty(target, INSPECT, { value: show, configurable: true });
}

function show(this: object): unknown {
  try {
    return Array.isArray(this) ? Array.from<unknown>(this) : { ...this };
  } catch {
    // A log does not fail because the turn is over.
    return "<draft of a turn that is over>";
  }
}
