// Owns: small collections that have nothing to do with actors: caches, sets by key, queues by key. Does not own: limits on
// clients (limits.ts).

/** The same function of an object, which keeps what it made for as long as that object is held. It never makes undefined. */
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

interface Judged<T> {
  readonly text: string;
  readonly value: T;
}

/**
 * The same function, which keeps what it said: clients repeat themselves. Bounded, since the text is theirs. The text before is
 * compared first: to be looked up, one that was just read must be hashed, and that takes longer.
 */
export function memoizeByString<T>(judge: (text: string) => T): (text: string) => T {
  const known = new Map<string, Judged<T>>();
  let last: Judged<T> | undefined;
  return (text) => {
    if (last !== undefined && last.text === text) return last.value;
    let found = known.get(text);
    if (found === undefined) {
      found = { text, value: judge(text) };
      if (text.length > LONGEST) return found.value;
      if (known.size >= MOST) known.clear();
      known.set(text, found);
    }
    last = found;
    return found.value;
  };
}

/** Sets by key. A key is there for as long as something is in its set. */
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

/** Steps of one key run one after the other, those of others meanwhile. A step that fails is its caller's to hear of. */
export class Queues<K> {
  /** Of each key the last step, while there is one. */
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
