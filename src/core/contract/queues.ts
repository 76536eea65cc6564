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
