// Owns: which guests have an instance in a worker, and which instances to drop. Does not own: the instances (worker-host.ts).
interface InstanceEntry {
  readonly bytes: number;
  /** What it counts towards the limit of bytes. */
  readonly weight: number;
}

const NO_INSTANCE: InstanceEntry = { bytes: 0, weight: 0 };

/** The instances in one worker. The main thread decides which are dropped, so it knows where each guest is. */
export class InstanceTable {
  /** In order of last use. */
  readonly #idle = new Map<string, InstanceEntry>();
  readonly #busy = new Map<string, InstanceEntry>();
  readonly #maxInstances: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxInstances: number, maxBytes: number) {
    this.#maxInstances = maxInstances;
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#idle.size + this.#busy.size;
  }

  has(guest: string): boolean {
    return this.#idle.has(guest) || this.#busy.has(guest);
  }

  /** Bytes of its memory. */
  bytesOf(guest: string): number | undefined {
    return (this.#idle.get(guest) ?? this.#busy.get(guest))?.bytes;
  }

  /** A call of a guest starts. Returns the guests to drop; busy ones stay. */
  callStarted(guest: string): readonly string[] {
    this.#busy.set(guest, this.#idle.get(guest) ?? NO_INSTANCE);
    this.#idle.delete(guest);
    return this.#evictExcess();
  }

  /** A call ended. `bytes` is undefined if the instance is gone. `outside`: what it holds outside its memory. Returns the guests to drop. */
  callEnded(guest: string, bytes: number | undefined, outside = 0): readonly string[] {
    this.#bytes -= this.#busy.get(guest)?.weight ?? 0;
    this.#busy.delete(guest);
    if (bytes !== undefined) {
      this.#idle.set(guest, { bytes, weight: bytes + outside });
      this.#bytes += bytes + outside;
    }
    return this.#evictExcess();
  }

  /** Removes an idle guest. Returns whether there was one. */
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
