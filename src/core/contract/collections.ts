// Owns: small collections that have nothing to do with actors: caches, sets by key, queues by key. Does not own: limits on clients
// (client-limits.ts).

/** Caches a function's results per object, for as long as the object lives. The function must not return undefined. */
export function memoize<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const made = new WeakMap<K, V>();
  return (of) => {
    let known = made.get(of);
    if (known === undefined) made.set(of, (known = make(of)));
    return known;
  };
}

const MOST = 256;
const LONGEST = 256;

interface Cached<T> {
  readonly text: string;
  readonly value: T;
}

/**
 * Caches a function's results per text. The cache is bounded in number and length, since clients choose the texts. The previous text
 * is compared first, because a Map lookup must hash a text that was just read, which takes longer.
 */
export function memoizeByString<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, Cached<T>>();
  let last: Cached<T> | undefined;
  return (text) => {
    if (last !== undefined && last.text === text) return last.value;
    let found = known.get(text);
    if (found === undefined) {
      found = { text, value: compute(text) };
      if (text.length > LONGEST) return found.value;
      if (known.size >= MOST) known.clear();
      known.set(text, found);
    }
    last = found;
    return found.value;
  };
}

/**
 * A bounded cache of what can be computed again; drops the entries that were not used for longest. It has two halves and drops the older
 * as a whole: a Map whose entries are deleted and set again at each use leaves old tables behind, which the collector treats as live.
 */
export class Lru<K, V> {
  readonly #half: number;
  #recent = new Map<K, V>();
  #old = new Map<K, V>();

  /** `max`: the most entries. At least the latest half of them stay. */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  get(key: K): V | undefined {
    const value = this.#recent.get(key);
    if (value !== undefined || this.#old.size === 0) return value;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  delete(key: K): void {
    this.#recent.delete(key);
    this.#old.delete(key);
  }

  set(key: K, value: V): void {
    this.#recent.set(key, value);
    if (this.#recent.size <= this.#half) return;
    this.#old = this.#recent;
    this.#recent = new Map();
  }
}

/** Sets by key. A key exists while its set has a value. */
export class MultiMap<K, V> extends Map<K, Set<V>> {
  put(key: K, value: V): void {
    const values = this.get(key);
    if (values === undefined) this.set(key, new Set([value]));
    else values.add(value);
  }

  take(key: K, value: V): void {
    const values = this.get(key);
    values?.delete(value);
    if (values?.size === 0) this.delete(key);
  }
}

/** Runs the steps of one key one after the other, and those of different keys concurrently. A failed step rejects for its caller only. */
export class Queues<K> {
  /** The last unfinished step of each key. */
  readonly #last = new Map<K, Promise<unknown>>();

  run<T>(key: K, step: () => Promise<T>): Promise<T> {
    const done = (this.#last.get(key) ?? Promise.resolve()).then(step);
    const last = done
      .catch(() => undefined)
      .finally(() => {
        if (this.#last.get(key) === last) this.#last.delete(key);
      });
    this.#last.set(key, last);
    return done;
  }
}
