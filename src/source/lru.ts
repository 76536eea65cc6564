/** A map that forgets what was longest not asked for: what can be computed again is never kept without bound. */
export class Lru<K, V> {
  readonly #max: number;
  readonly #map = new Map<K, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    const value = this.#map.get(key);
    if (value === undefined) return undefined;
    this.#map.delete(key);
    this.#map.set(key, value);
    return value;
  }

  delete(key: K): void {
    this.#map.delete(key);
  }

  set(key: K, value: V): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    if (this.#map.size <= this.#max) return;
    const oldest = this.#map.keys().next();
    if (oldest.done !== true) this.#map.delete(oldest.value);
  }
}
