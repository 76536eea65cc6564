// Owns: bounds of what the recorder remembers and looks at. Does not own: what that is.

import { isList, type Json } from "../../core/contract/index.ts";

/** A map of so many entries at most: those that were set longest ago go first. */
export class Bounded<K, V> {
  readonly #most: number;
  readonly #entries = new Map<K, V>();

  constructor(most: number) {
    this.#most = most;
  }

  get entries(): ReadonlyMap<K, V> {
    return this.#entries;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key);
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#most) for (const [oldest] of this.#entries) return void this.#entries.delete(oldest);
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }
}

const VALUE = 8;

/** Whether its JSON has more than about so many characters. Looks no further than that. */
export function isLarger(value: Json, most: number): boolean {
  const waiting: Json[] = [value];
  let left = most;
  while (left >= 0) {
    const next = waiting.pop();
    if (next === undefined) return false;
    left -= typeof next === "string" ? next.length + 2 : VALUE;
    if (typeof next !== "object" || next === null) continue;
    const inner = isList(next) ? next : Object.values(next);
    if (inner.length * 2 > left) return true;
    waiting.push(...inner);
  }
  return true;
}
