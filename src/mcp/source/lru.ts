/**
 * A map that forgets what was longest not asked for: what can be computed again is never kept without bound. Two halves, of
 * which the older is dropped whole: a Map whose entries are deleted and set again at every look leaves tables behind that
 * the collector takes for alive, with all they held.
 */
export class Lru<K, V> {
  readonly #half: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** `max`: the most entries that are kept. At least half as many of the latest always are. */
  constructor(max: number) {
    this.#half = Math.max(1, Math.floor(max / 2));
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined || this.#old.size === 0) return value;
    const older = this.#old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  delete(key: K): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  set(key: K, value: V): void {
    this.#young.set(key, value);
    if (this.#young.size <= this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
