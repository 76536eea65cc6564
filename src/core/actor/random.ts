// Owns: a turn's random numbers and ids. Does not own: its seed (core/chain/messages.ts).
/** A turn's randomness: the same seed gives the same numbers and ids on every run (law 4). Not for secrets. */
export interface Random {
  /** At least 0, below 1, with 53 random bits. */
  readonly random: () => number;
  /** A version 4 UUID. Its stream is separate from `random`'s, so drawing numbers does not change the ids. */
  readonly id: () => string;
}

const STREAM_NUMBERS = 0;
const STREAM_IDS = 0x9e3779b9;

/** From 32 hex digits; what is not hex counts as zeros. */
export function seeded(seed: string): Random {
  let numbers: (() => number) | undefined;
  let ids: (() => number) | undefined;
  return {
    random() {
      numbers ??= sfc32(seed, STREAM_NUMBERS);
      const high = numbers() >>> 5;
      const low = numbers() >>> 6;
      return (high * 0x4000000 + low) / 0x20000000000000;
    },
    id() {
      ids ??= sfc32(seed, STREAM_IDS);
      const a = hex(ids());
      const b = hex(ids());
      const c = hex((ids() & 0x3fffffff) | 0x80000000);
      const d = hex(ids());
      return `${a}-${b.slice(0, 4)}-4${b.slice(5)}-${c.slice(0, 4)}-${c.slice(4)}${d}`;
    },
  };
}

/** Chris Doty-Humphrey's sfc32: 128 bits of state, a period of at least 2^32 from every seed, 32 bits a step. */
function sfc32(seed: string, stream: number): () => number {
  let a = word(seed, 0);
  let b = word(seed, 8);
  let c = word(seed, 16);
  let counter = (word(seed, 24) ^ stream) | 0;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  for (let round = 0; round < 12; round += 1) next();
  return next;
}

function word(seed: string, at: number): number {
  const value = Number.parseInt(seed.slice(at, at + 8), 16);
  return Number.isNaN(value) ? 0 : value | 0;
}

function hex(word32: number): string {
  return (word32 >>> 0).toString(16).padStart(8, "0");
}
