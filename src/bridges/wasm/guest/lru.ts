interface Entry<V> {
  readonly value: Promise<V>;
  weight: number;
}

type Load<V> = () => Promise<{ readonly value: V; readonly weight: number }>;

/** Keeps what was used last, up to a weight. What is being loaded is loaded once. */
export class Lru<V> {
  readonly #kept = new Map<string, Entry<V>>();
  readonly #most: number;
  #weight = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** `load` tells a value and how much it weighs; what it throws is not kept. */
  get(key: string, load: Load<V>): Promise<V> {
    const known = this.#kept.get(key);
    if (known !== undefined) {
      this.#kept.delete(key);
      this.#kept.set(key, known);
      return known.value;
    }
    const entry: Entry<V> = { value: this.#loaded(key, load, () => entry), weight: 0 };
    this.#kept.set(key, entry);
    return entry.value;
  }

  async #loaded(key: string, load: Load<V>, self: () => Entry<V>): Promise<V> {
    try {
      const { value, weight } = await load();
      const entry = self();
      if (this.#kept.get(key) === entry) {
        entry.weight = weight;
        this.#weight += weight;
        this.#trim();
      }
      return value;
    } catch (error) {
      if (this.#kept.get(key) === self()) this.#kept.delete(key);
      throw error;
    }
  }

  put(key: string, value: V, weight: number): void {
    this.drop(key);
    this.#kept.set(key, { value: Promise.resolve(value), weight });
    this.#weight += weight;
    this.#trim();
  }

  drop(key: string): void {
    this.#weight -= this.#kept.get(key)?.weight ?? 0;
    this.#kept.delete(key);
  }

  #trim(): void {
    for (const key of this.#kept.keys()) {
      if (this.#weight <= this.#most) return;
      this.drop(key);
    }
  }
}
