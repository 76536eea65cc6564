import { GuestKilled } from "./errors.ts";

/** How many bytes may still be copied between a guest and its host. */
export class Budget {
  #left: number;
  readonly #what: string;
  readonly #limit: number;

  /** `what`: the subject of "… than N bytes". */
  constructor(limit: number, what: string) {
    this.#left = limit;
    this.#limit = limit;
    this.#what = what;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new GuestKilled("bytes", `${this.#what} than ${this.#limit} bytes.`);
  }
}

/** Of what the host itself decided to pass on. */
export const UNBOUNDED: Budget = new Budget(Number.POSITIVE_INFINITY, "");
