/** Ids a server chose: another run may choose others, but each for the same thing throughout. */
export class SameNames {
  readonly #now = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** False: it stood for something else before. */
  match(recorded: string, actual: string): boolean {
    const known = this.#now.get(recorded);
    if (known !== undefined) return known === actual;
    if (this.#taken.has(actual)) return false;
    this.#now.set(recorded, actual);
    this.#taken.add(actual);
    return true;
  }

  /** What it is called in this run. */
  of(recorded: string): string {
    return this.#now.get(recorded) ?? recorded;
  }
}
