/** Whose instances a worker keeps: the main thread decides who goes, so it knows where each guest is. */
export class Residents {
  /** Bytes of memory. The one used last stands last. */
  readonly #idle = new Map<string, number>();
  readonly #busy = new Map<string, number>();
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

  bytesOf(guest: string): number | undefined {
    return this.#idle.get(guest) ?? this.#busy.get(guest);
  }

  /** A call of it begins. Gives who has to go for it: nobody who is busy. */
  enter(guest: string): readonly string[] {
    this.#busy.set(guest, this.#idle.get(guest) ?? 0);
    this.#idle.delete(guest);
    return this.#excess();
  }

  /** Its call is over; no bytes: its instance is gone. Gives who has to go. */
  leave(guest: string, bytes: number | undefined): readonly string[] {
    this.#bytes += (bytes ?? 0) - (this.#busy.get(guest) ?? 0);
    this.#busy.delete(guest);
    if (bytes !== undefined) this.#idle.set(guest, bytes);
    return this.#excess();
  }

  /** True: it was there, and idle. */
  delete(guest: string): boolean {
    this.#bytes -= this.#idle.get(guest) ?? 0;
    return this.#idle.delete(guest);
  }

  #excess(): readonly string[] {
    const gone: string[] = [];
    for (const [guest, bytes] of this.#idle) {
      if (this.size <= this.#most && this.#bytes <= this.#mostBytes) break;
      this.#idle.delete(guest);
      this.#bytes -= bytes;
      gone.push(guest);
    }
    return gone;
  }
}
