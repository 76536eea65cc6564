import { soon } from "../../core/platform/index.ts";

/** What is done within one slice; it sees to its own errors. */
export interface Piece {
  run(): void;
}

/**
 * Much work of one kind, a slice in each round of the event loop, so that what else comes waits for a slice and never for all.
 * First come, first served. Who adds a piece adds it again only once it ran, so there is one for each at most.
 */
export class Slices {
  readonly #size: number;
  #pieces: Piece[] = [];
  #next = 0;
  #added: Piece[] = [];
  #due = false;

  constructor(size: number) {
    this.#size = size;
  }

  add(piece: Piece): void {
    this.#added.push(piece);
    this.#later();
  }

  #later(): void {
    if (this.#due) return;
    this.#due = true;
    soon(this.#slice);
  }

  readonly #slice = (): void => {
    this.#due = false;
    // Two lists that change places: one that is only pushed to and read would grow for as long as somebody adds.
    if (this.#next === this.#pieces.length) {
      this.#pieces = this.#added;
      this.#added = [];
      this.#next = 0;
    }
    const end = Math.min(this.#pieces.length, this.#next + this.#size);
    // Before they run: one that throws all the same ends neither this nor the rest.
    if (end < this.#pieces.length || this.#added.length > 0) this.#later();
    while (this.#next < end) {
      const piece = this.#pieces[this.#next];
      this.#next += 1;
      piece?.run();
    }
    if (this.#next < this.#pieces.length) return;
    this.#pieces = [];
    this.#next = 0;
  };
}
