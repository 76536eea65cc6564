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
