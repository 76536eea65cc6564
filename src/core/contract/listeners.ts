/**
 * Who is told of something. Who is there is listed once for many tellings, since it seldom changes; a telling goes through the list
 * that it began with, past those who are not there any more. So one that leaves and comes back whenever it is told is told once,
 * where it would be told for ever. Whoever tells walks the list: a function for each telling costs a short call more than the rest.
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
