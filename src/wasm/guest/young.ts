import type { Clock, Digest } from "../../contract/index.ts";

/** What is put is named by a state only once its turn is kept: until then a collection must not take it for garbage. */
export class Young {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #since = new Map<Digest, number>();

  /** Longer than any turn takes from its first content to its commit. */
  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.#ms = ms;
  }

  add(digest: Digest): void {
    // The oldest stands first.
    this.#since.delete(digest);
    this.#since.set(digest, this.#clock.now());
    this.#forget();
  }

  all(): readonly Digest[] {
    this.#forget();
    return [...this.#since.keys()];
  }

  #forget(): void {
    const before = this.#clock.now() - this.#ms;
    for (const [digest, since] of this.#since) {
      if (since > before) return;
      this.#since.delete(digest);
    }
  }
}
