/** Time, injected: production has one, tests step another by hand. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Runs once after `ms`; returns its undo. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void;
  /** Milliseconds by a clock that nobody sets and that stands still while the machine sleeps. Absent: jumps of `now()` are not noticed. */
  elapsed?(): number;
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
  elapsed: () => performance.now(),
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

// Asking the system for 16 bytes at a time costs more than a whole turn, and to make text of them a tenth of one. Not more of it
// at once: a text that was cut off keeps the whole it was cut from.
const AT_ONCE = 256;
const pool = new Uint8Array(64 * AT_ONCE);
let drawn = pool.length;
let text = "";
let cut = 0;
// Node's own way to hex is many times as fast; a browser has none.
const pooled = typeof Buffer === "undefined" ? undefined : Buffer.from(pool.buffer);

const hexOf = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function moreText(): string {
  if (drawn === pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  const from = drawn;
  drawn += AT_ONCE;
  return pooled === undefined ? hexOf(pool.subarray(from, drawn)) : pooled.toString("hex", from, drawn);
}

export const systemEntropy: Entropy = {
  hex(bytes) {
    if (bytes > AT_ONCE) return hexOf(crypto.getRandomValues(new Uint8Array(bytes)));
    const from = cut;
    cut += 2 * bytes;
    if (cut <= text.length) return text.slice(from, cut);
    text = moreText();
    cut = 2 * bytes;
    return text.slice(0, cut);
  },
  uuid: () => crypto.randomUUID(),
};
