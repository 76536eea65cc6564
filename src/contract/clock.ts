/** Time, injected: production has one, tests step another by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs once after `ms`; returns its undo. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
}

/** Randomness and ids, injected. */
export interface Entropy {
  /** Lower-case hex of that many random bytes. */
  hex(bytes: number): string;
  uuid(): string;
}

// Timers hold a signed 32-bit number of milliseconds: a longer wait fires at once.
const LONGEST_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    if (ms > LONGEST_MS) {
      let undo = systemClock.after(LONGEST_MS, () => {
        undo = systemClock.after(ms - LONGEST_MS, run);
      });
      return () => undo();
    }
    const timer = setTimeout(run, ms);
    // A browser's is a number, and keeps nothing alive.
    if (typeof timer === "object") timer.unref();
    return () => clearTimeout(timer);
  },
};

// Asking the system for 16 bytes at a time costs more than a whole turn.
const pool = new Uint8Array(16_384);
let drawn = pool.length;
// Node's own way to hex is many times as fast; a browser has none.
const pooled = typeof Buffer === "undefined" ? undefined : Buffer.from(pool.buffer);

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const systemEntropy: Entropy = {
  hex(bytes) {
    if (bytes > 256) return hexOf(crypto.getRandomValues(new Uint8Array(bytes)));
    if (drawn + bytes > pool.length) {
      crypto.getRandomValues(pool);
      drawn = 0;
    }
    drawn += bytes;
    return pooled === undefined ? hexOf(pool.subarray(drawn - bytes, drawn)) : pooled.toString("hex", drawn - bytes, drawn);
  },
  uuid: () => crypto.randomUUID(),
};
