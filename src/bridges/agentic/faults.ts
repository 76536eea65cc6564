const MAX_TOLD = 1_000;

/** What failed inside a service, told once each: the same one comes with each change. */
export class Faults {
  readonly #onFault: ((error: unknown) => void) | undefined;
  readonly #told = new Set<string>();

  constructor(onFault: ((error: unknown) => void) | undefined) {
    this.#onFault = onFault;
  }

  tell(error: unknown): void {
    // What was thrown may throw when it is written, and who is told may throw too: neither is anybody's who called here.
    try {
      const said = String(error);
      if (this.#told.has(said) || this.#told.size >= MAX_TOLD) return;
      this.#told.add(said);
      this.#onFault?.(error);
    } catch {
      return;
    }
  }
}

const MAX_TEXT = 4_096;

/** Its message is the service's own word to its caller, as a string it returns is. `what` failed, where it has none. */
export function wordsOf(thrown: unknown, what: string): string {
  const said = thrown instanceof Error ? thrown.message : thrown;
  return typeof said === "string" && said !== "" ? said.slice(0, MAX_TEXT).toWellFormed() : `${what} failed without saying why.`;
}
