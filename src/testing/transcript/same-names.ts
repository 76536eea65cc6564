/** What a server names itself. Event ids are a session's own: another session's may be the same. */
export type NameSort = "session" | "state" | "question" | `event of ${string}`;

/** Names a server chose: another run may choose others, but each for the same thing throughout. */
export class SameNames {
  readonly #now = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** False: it stood for something else before. */
  match(sort: NameSort, recorded: string, actual: string): boolean {
    const known = this.#now.get(`${sort} ${recorded}`);
    if (known !== undefined) return known === actual;
    if (this.#taken.has(`${sort} ${actual}`)) return false;
    this.#now.set(`${sort} ${recorded}`, actual);
    this.#taken.add(`${sort} ${actual}`);
    return true;
  }

  /** What it is called in this run. */
  of(sort: NameSort, recorded: string): string {
    return this.#now.get(`${sort} ${recorded}`) ?? recorded;
  }
}
