interface Resident {
  readonly bytes: number;
  /** What it counts of the bytes there may be. */
  readonly weight: number;
}

const NEW: Resident = { bytes: 0, weight: 0 };

/** Whose instances a worker keeps: the main thread decides who goes, so it knows where each guest is. */
export class Residents {
  /** The one used last stands last. */
  readonly #idle = new Map<string, Resident>();
  readonly #busy = new Map<string, Resident>();
  readonly #most: number;
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(most: number, mostBytes: number) {
    this.#most = most;
    this.#mostBytes = mostBytes;
  }

  get size(): number {
    return this.#idle.size + this.#busy.size;
  }

  has(guest: string): boolean {
    return this.#idle.has(guest) || this.#busy.has(guest);
  }

  /** Of its memory. */
  bytesOf(guest: string): number | undefined {
    return (this.#idle.get(guest) ?? this.#busy.get(guest))?.bytes;
  }

  /** A call of it begins. Gives who has to go for it: nobody who is busy. */
  enter(guest: string): readonly string[] {
    this.#busy.set(guest, this.#idle.get(guest) ?? NEW);
    this.#idle.delete(guest);
    return this.#excess();
  }

  /** Its call is over; no bytes: it has no instance any more. `outside`: what it holds outside its memory. Returns the guests to drop. */
  leave(guest: string, bytes: number | undefined, outside = 0): readonly string[] {
    this.#bytes -= this.#busy.get(guest)?.weight ?? 0;
    this.#busy.delete(guest);
    if (bytes !== undefined) {
      this.#idle.set(guest, { bytes, weight: bytes + outside });
      this.#bytes += bytes + outside;
    }
    return this.#excess();
  }

  /** True: it was there, and idle. */
  delete(guest: string): boolean {
    this.#bytes -= this.#idle.get(guest)?.weight ?? 0;
    return this.#idle.delete(guest);
  }

  #excess(): readonly string[] {
    const gone: string[] = [];
    for (const [guest, { weight }] of this.#idle) {
      if (this.size <= this.#most && this.#bytes <= this.#mostBytes) break;
      this.#idle.delete(guest);
      this.#bytes -= weight;
      gone.push(guest);
    }
    return gone;
  }
}
