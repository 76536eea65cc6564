/**
 * Who is told of something. Who is there is listed once for many tellings, since it seldom changes; a telling meets those of its
 * list who have not left since. One that leaves and comes back whenever it is told is no longer of it: it would be told for ever.
 */
export class Listeners<T extends object> {
  readonly #all = new Set<T>();
  #listed: readonly T[] | undefined;

  get none(): boolean {
    return this.#all.size === 0;
  }

  add(one: T): void {
    this.#all.add(one);
    this.#listed = undefined;
  }

  delete(one: T): void {
    if (this.#all.delete(one)) this.#listed = undefined;
  }

  /** As they are now: what a telling begins with. */
  list(): readonly T[] {
    return (this.#listed ??= Array.from(this.#all));
  }

  /** Whether one of `list` is still there. */
  has(one: T, list: readonly T[]): boolean {
    return this.#listed === list || this.#all.has(one);
  }
}
