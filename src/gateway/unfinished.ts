import { Fault } from "./errors.ts";

interface Place {
  at: number;
  readonly refuse: (fault: Fault) => void;
}

/**
 * Requests that have begun and may have to be answered before they end. Each knows its place: a table that an entry enters and
 * leaves with every call is held by the collector with what it held.
 */
export class Unfinished {
  readonly #places: Place[] = [];
  #over = false;

  /** Nothing is waited for any more. */
  get over(): boolean {
    return this.#over;
  }

  /** Settles as it does, or is refused where nothing is waited for any more. */
  within<T>(outcome: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const place: Place = { at: this.#places.length, refuse: reject };
      this.#places.push(place);
      outcome.then(
        (value) => {
          this.#leave(place);
          return resolve(value);
        },
        (error: unknown) => {
          this.#leave(place);
          reject(error);
        },
      );
      if (this.#over) reject(closed());
    });
  }

  /** Whoever still waits is told that nobody knows what became of it. */
  refuseAll(): void {
    this.#over = true;
    for (const { refuse } of this.#places) refuse(closed());
  }

  #leave(place: Place): void {
    const last = this.#places.pop();
    if (last === undefined || last === place) return;
    this.#places[place.at] = last;
    last.at = place.at;
  }
}

const closed = (): Fault =>
  new Fault(
    "UNAVAILABLE",
    "The server closes before this was done, and whether it was applied is not known: look, and call again once the server is back.",
  );
