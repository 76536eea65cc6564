// So many at the end become one.
const LOOSE = 256;
// A piece costs a call, and on the wire a line of its own.
const MANY = 4_096;
const CRUMB_BYTES = 16;

/**
 * Bytes that come in pieces, of whatever size: a piece is an object, and a body that comes byte by byte would hold four hundred times
 * what it says.
 */
export class Pieces {
  readonly #pieces: Uint8Array[] = [];
  #loose = 0;
  #size = 0;
  #count = 0;

  get size(): number {
    return this.#size;
  }

  /** There are absurdly many for what they hold. */
  get crumbs(): boolean {
    return this.#count > MANY && this.#size < this.#count * CRUMB_BYTES;
  }

  push(piece: Uint8Array): void {
    this.#size += piece.byteLength;
    this.#count += 1;
    this.#pieces.push(piece);
    this.#loose += 1;
    if (this.#loose < LOOSE) return;
    this.#pieces.push(joined(this.#pieces.splice(-LOOSE)));
    this.#loose = 0;
  }

  /** All of them, one after the other. */
  whole(): Uint8Array<ArrayBuffer> {
    return joined(this.#pieces);
  }
}

export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
