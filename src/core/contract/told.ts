/** A caller's listener has run: what it throws, or rejects with, is its own fault, and nobody else hears of it. */
export function told(tell: () => unknown, fault: (error: unknown) => void): void {
  tellOf(tell, undefined, fault);
}

/** The same of a listener that is told something: for whoever tells often, no function is made of the two. */
export function tellOf<T>(listener: (what: T) => unknown, what: T, fault: (error: unknown, what: T) => void): void {
  try {
    const answer = listener(what);
    // Of an async listener nobody would hear, and Node ends the process over that.
    if (answer instanceof Promise) answer.catch((error: unknown) => fault(error, what));
  } catch (error) {
    fault(error, what);
  }
}
