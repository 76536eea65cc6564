import { isObject } from "./row.ts";

/** Reads the frozen value below a read-only proxy: a symbol, so that no text from outside names it. */
export const FROZEN = Symbol("frozen");

/** One proxy per frozen value, so that author code may compare parts of a state and remember results by them. */
export const proxies = new WeakMap<object, object>();

/** The frozen value itself, of a read-only proxy; any other value as it is. Throws what reading `value` throws. */
export function frozenOf(value: object): object;
export function frozenOf(value: unknown): unknown;
export function frozenOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const frozen: unknown = Reflect.get(value, FROZEN);
  // A proxy of the author's may have a value for every key.
  return isObject(frozen) && proxies.get(frozen) === value ? frozen : value;
}
