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
