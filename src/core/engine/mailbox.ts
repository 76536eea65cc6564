// Owns: a queue in which urgent items precede all others. Shifting takes constant time.
export class Mailbox<T> {
  #items: (T | undefined)[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  add(item: T): void {
    this.#items.push(item);
  }

  addUrgent(item: T): void {
    if (this.#first > 0) {
      this.#first -= 1;
      this.#items[this.#first] = item;
    } else this.#items.unshift(item);
  }

  shift(): T | undefined {
    if (this.#first >= this.#items.length) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    if (this.#first === this.#items.length || this.#first > 1_024) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  peek(): T | undefined {
    return this.#items[this.#first];
  }

  /** The first `most` items. */
  first(most: number): readonly T[] {
    return this.#items.slice(this.#first, this.#first + most).filter((item) => item !== undefined);
  }

  last(): T | undefined {
    return this.length === 0 ? undefined : this.#items.at(-1);
  }

  /** Removes all items, and returns them in order. */
  drain(): T[] {
    const all = this.#items.slice(this.#first).filter((item) => item !== undefined);
    this.#items = [];
    this.#first = 0;
    return all;
  }

  remove(item: T): boolean {
    const index = this.#items.indexOf(item, this.#first);
    if (index < 0) return false;
    this.#items.splice(index, 1);
    return true;
  }
}
