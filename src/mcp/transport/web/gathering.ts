import type { BodyRefusal } from "../body-refusal.ts";
import { type Arriving, FREE_BYTES, type Inflow } from "../inflow.ts";
import { Pieces } from "../pieces.ts";

/** A body that comes in pieces, within its bounds. */
export class Gathering {
  readonly #limit: number;
  readonly #inflow: Inflow;
  readonly #from: string | undefined;
  readonly #onRefused: () => void;
  #pieces = new Pieces();
  #arriving: Arriving | undefined;
  #refused: BodyRefusal | undefined;

  /** `from`: an address, where one is known. `onRefused`: once, where it cannot be taken whole. */
  constructor(limit: number, inflow: Inflow, from: string | undefined, onRefused: () => void) {
    this.#limit = limit;
    this.#inflow = inflow;
    this.#from = from;
    this.#onRefused = onRefused;
  }

  push(piece: Uint8Array): void {
    if (this.#refused !== undefined) return;
    this.#pieces.push(piece);
    const { size } = this.#pieces;
    if (size > this.#limit) return this.#refuse("too-large");
    if (this.#pieces.crumbs) return this.#refuse("too-many-pieces");
    if (size <= FREE_BYTES) return;
    this.#arriving ??= this.#inflow.begin(this.#from, (why) => this.#refuse(why));
    this.#arriving.holds(size);
  }

  /** The body, where that was all of it, or why it was not taken. */
  get outcome(): Uint8Array | BodyRefusal {
    return this.#refused ?? this.#pieces.whole();
  }

  /** Nothing comes any more. */
  end(): void {
    this.#arriving?.end();
  }

  #refuse(why: BodyRefusal): void {
    this.#refused = why;
    this.#pieces = new Pieces();
    this.end();
    this.#onRefused();
  }
}
