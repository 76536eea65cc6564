interface InstanceEntry {
  readonly bytes: number;
  /** What it counts of the bytes there may be. */
  readonly weight: number;
}

const NO_INSTANCE: InstanceEntry = { bytes: 0, weight: 0 };

/** Whose instances a worker keeps: the main thread decides who goes, so it knows where each guest is. */
export class InstanceTable {
  /** The one used last stands last. */
  readonly #idle = new Map<string, InstanceEntry>();
  readonly #busy = new Map<string, InstanceEntry>();
  readonly #maxInstances: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(most: number, mostBytes: number) {
    this.#maxInstances = most;
    this.#maxBytes = mostBytes;
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
  callStarted(guest: string): readonly string[] {
    this.#busy.set(guest, this.#idle.get(guest) ?? NO_INSTANCE);
    this.#idle.delete(guest);
    return this.#evictExcess();
  }

  /** Its call is over; no bytes: it has no instance any more. `outside`: what it holds outside its memory. Returns the guests to drop. */
  callEnded(guest: string, bytes: number | undefined, outside = 0): readonly string[] {
    this.#bytes -= this.#busy.get(guest)?.weight ?? 0;
    this.#busy.delete(guest);
    if (bytes !== undefined) {
      this.#idle.set(guest, { bytes, weight: bytes + outside });
      this.#bytes += bytes + outside;
    }
    return this.#evictExcess();
  }

  /** True: it was there, and idle. */
  delete(guest: string): boolean {
    this.#bytes -= this.#idle.get(guest)?.weight ?? 0;
    return this.#idle.delete(guest);
  }

  #evictExcess(): readonly string[] {
    const evicted: string[] = [];
    for (const [guest, { weight }] of this.#idle) {
      if (this.size <= this.#maxInstances && this.#bytes <= this.#maxBytes) break;
      this.#idle.delete(guest);
      this.#bytes -= weight;
      evicted.push(guest);
    }
    return evicted;
  }
}
