import { Fault } from "./errors.ts";
import type { Running } from "./running.ts";

interface Place {
  at: number;
  readonly of: Running | undefined;
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

  /** Settles as it does, or rejects with `GivenUp`. `of`: the request that waits for it. */
  within<T>(outcome: Promise<T>, of?: Running): Promise<T> {
    return new Promise((resolve, reject) => {
      const place: Place = { at: this.#places.length, of, refuse: reject };
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
      if (this.#over) reject(new GivenUp());
    });
  }

  /** Whoever still waits is told that nobody knows what became of it. */
  refuseAll(): void {
    this.#over = true;
    for (const { refuse } of this.#places) refuse(new GivenUp());
  }

  /** The same for one request. */
  refuse(request: Running): void {
    for (const { of, refuse } of this.#places) if (of === request) refuse(new GivenUp());
  }

  #leave(place: Place): void {
    const last = this.#places.pop();
    if (last === undefined || last === place) return;
    this.#places[place.at] = last;
    last.at = place.at;
  }
}

/** The server waits for it no longer. */
export class GivenUp extends Fault {
  constructor() {
    super(
      "UNAVAILABLE",
      "The server closes before this was done, and whether it was applied is not known: look, and call again once the server is back.",
    );
  }
}
