// Owns: reporting faults of a service to `onFault`, and the message of what a service threw. Does not own: where they occur.

const MAX_REPORTED = 1_000;
const MAX_MESSAGE = 4_096;

/** Reports each fault once: a broken observable throws the same error again with every change. */
export class FaultReporter {
  readonly #onFault: ((error: unknown) => void) | undefined;
  readonly #reported = new Set<string>();

  constructor(onFault: ((error: unknown) => void) | undefined) {
    this.#onFault = onFault;
  }

  report(error: unknown): void {
    // Both the conversion of the error to text and `onFault` may throw. Neither failure concerns the caller.
    try {
      const text = String(error);
      if (this.#reported.has(text) || this.#reported.size >= MAX_REPORTED) return;
      this.#reported.add(text);
      this.#onFault?.(error);
    } catch {
      return;
    }
  }
}

/** The message of what a service threw, for its caller. `what` names the part that failed, for values without a message. */
export function callerMessage(thrown: unknown, what: string): string {
  const message = thrown instanceof Error ? thrown.message : thrown;
  return typeof message === "string" && message !== ""
    ? message.slice(0, MAX_MESSAGE).toWellFormed()
    : `${what} failed without saying why.`;
}
