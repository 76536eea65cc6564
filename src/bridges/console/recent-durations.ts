// Owns: counting durations and errors of a recent time in bounded memory. Does not own: what is counted.

/** Each is 9 % above the one before, from 10 µs to 2.5 minutes. */
const BUCKETS = 192;
const PER_DOUBLING = 8;
const LEAST_MS = 0.01;

const bucketOf = (ms: number): number => (ms <= LEAST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / LEAST_MS) * PER_DOUBLING)));

const upperMs = (bucket: number): number => LEAST_MS * 2 ** (bucket / PER_DOUBLING);

interface Slot {
  /** Which slot since 1970 it counts. */
  of: number;
  count: number;
  errors: number;
  maxMs: number;
  readonly buckets: Uint32Array;
}

/** Durations in milliseconds. */
interface Latency {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

export interface RecentFigures {
  readonly requests: number;
  readonly errors: number;
  readonly latencyMs: Latency;
}

/** Those of the last slots, each with a histogram of fixed size. Default: six slots of ten seconds, which are the last minute. */
export class RecentDurations {
  readonly #most: number;
  readonly #slotMs: number;
  readonly #slots: Slot[] = [];

  constructor(slots = 6, slotMs = 10_000) {
    this.#most = slots;
    this.#slotMs = slotMs;
  }

  /** All that there ever were. */
  static ofAllTime(): RecentDurations {
    return new RecentDurations(1, Infinity);
  }

  add(now: number, ms: number, isError: boolean): void {
    const slot = this.#slotAt(Math.floor(now / this.#slotMs));
    slot.count += 1;
    if (isError) slot.errors += 1;
    if (ms > slot.maxMs) slot.maxMs = ms;
    const bucket = bucketOf(ms);
    slot.buckets[bucket] = (slot.buckets[bucket] ?? 0) + 1;
  }

  #slotAt(of: number): Slot {
    const at = of % this.#most;
    const slot = (this.#slots[at] ??= { of, count: 0, errors: 0, maxMs: 0, buckets: new Uint32Array(BUCKETS) });
    if (slot.of !== of) {
      slot.of = of;
      slot.count = slot.errors = slot.maxMs = 0;
      slot.buckets.fill(0);
    }
    return slot;
  }

  /** The figures of several, which count alike, as one. */
  static together(all: readonly RecentDurations[]): Pick<RecentDurations, "figures"> {
    const [first] = all;
    const joint = new RecentDurations(first === undefined ? undefined : first.#most, first === undefined ? undefined : first.#slotMs);
    for (const one of all) joint.#slots.push(...one.#slots.filter((slot) => slot !== undefined));
    return joint;
  }

  figures(now: number): RecentFigures {
    const newest = Math.floor(now / this.#slotMs);
    const recent = this.#slots.filter((slot) => slot.of > newest - this.#most && slot.of <= newest);
    const count = recent.reduce((sum, slot) => sum + slot.count, 0);
    const max = recent.reduce((most, slot) => Math.max(most, slot.maxMs), 0);
    const percentile = (share: number): number => Math.min(max, percentileOf(recent, Math.ceil(count * share)));
    return {
      requests: count,
      errors: recent.reduce((sum, slot) => sum + slot.errors, 0),
      latencyMs: {
        p50: rounded(percentile(0.5)),
        p95: rounded(percentile(0.95)),
        p99: rounded(percentile(0.99)),
        max: rounded(max),
        count,
      },
    };
  }
}

function percentileOf(slots: readonly Slot[], rank: number): number {
  if (rank === 0) return 0;
  let seen = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    for (const { buckets } of slots) seen += buckets[bucket] ?? 0;
    if (seen >= rank) return upperMs(bucket);
  }
  return upperMs(BUCKETS - 1);
}

const rounded = (ms: number): number => Math.round(ms * 1_000) / 1_000;
