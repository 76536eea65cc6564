// Owns: counting against a rate, and whether a value that an app posted is JSON of bounded size. Does not own: the limits of what apps may
// do (app-host.ts).
import type { Json, JsonObject } from "../../../src/core/contract/index.ts";
import { isObject } from "../json.ts";

export class TokenBucket {
  readonly #most: number;
  readonly #perSecond: number;
  #left: number;
  #at = performance.now();

  constructor(most: number, perSecond: number) {
    this.#most = most;
    this.#perSecond = perSecond;
    this.#left = most;
  }

  take(): boolean {
    const now = performance.now();
    this.#left = Math.min(this.#most, this.#left + ((now - this.#at) / 1_000) * this.#perSecond);
    this.#at = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

const MAX_SIZE = 1_000_000;
const MAX_DEPTH = 64;

/** Whether it is a JSON object of bounded size and depth: frames can post anything that can be copied, also what has cycles. */
export function isBoundedObject(data: unknown): data is JsonObject {
  let left = MAX_SIZE;
  const fits = (value: unknown, depth: number): value is Json => {
    left -= typeof value === "string" ? value.length + 1 : 1;
    if (left < 0 || depth > MAX_DEPTH) return false;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean" || value === null) return true;
    if (Array.isArray(value)) return value.every((one) => fits(one, depth + 1));
    // What is undefined is left out of JSON.
    if (value === undefined) return true;
    if (typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return false;
    return Object.entries(value).every(([name, member]) => ((left -= name.length), fits(member, depth + 1)));
  };
  return isObject(data) && fits(data, 0);
}
