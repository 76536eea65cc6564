/** A caller's listener has run: what it throws, or rejects with, is its own fault, and nobody else hears of it. */
export function told(tell: () => unknown, fault: (error: unknown) => void): void {
  try {
    const answer = tell();
    // Of an async listener nobody would hear, and Node ends the process over that.
    if (answer instanceof Promise) answer.catch(fault);
  } catch (error) {
    fault(error);
  }
}
