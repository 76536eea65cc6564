// Owns: the random numbers of one call, derived from its seed.
import { fromHex, sha256Hex } from "../../../core/platform/index.ts";

/** A generator: SHA-256 of the seed and a counter. The same seed always gives the same numbers (law 4), so the seed must stay secret. */
export class GuestRandom {
  readonly #seed: string;
  #counter = 0;
  #block = new Uint8Array(0);
  #at = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#at === this.#block.length) this.#next();
      const part = this.#block.subarray(this.#at, this.#at + length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#at += part.length;
    }
    return bytes;
  }

  /** At least 0, below 1, with 53 random bits. */
  float(): number {
    return Number(this.#u64() >> 11n) / 2 ** 53;
  }

  /** At least `min`, below `max`. Draws again where the remainder would favour small numbers. */
  range(min: bigint, max: bigint): bigint {
    const width = max - min;
    const fair = 2n ** 64n - (2n ** 64n % width);
    let drawn = this.#u64();
    while (drawn >= fair) drawn = this.#u64();
    return min + (drawn % width);
  }

  /** A UUID of version 4. */
  uuid(): string {
    const bytes = this.bytes(16);
    bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #u64(): bigint {
    const bytes = this.bytes(8);
    return new DataView(bytes.buffer).getBigUint64(0);
  }

  #next(): void {
    this.#block = Uint8Array.from(fromHex(sha256Hex(`${this.#seed}:${this.#counter}`)));
    this.#counter += 1;
    this.#at = 0;
  }
}
