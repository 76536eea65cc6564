import { FROZEN, proxies } from "./frozen-of.ts";
import { LIST } from "./list-shape.ts";
import { PART, readFrom, toPrimitive } from "./list-methods.ts";
import { OBJECT } from "./object-shape.ts";
import { type Row, rowOf } from "./row.ts";
import type { Shape } from "./shape.ts";

/**
 * A committed state (deeply frozen JSON) for author code that only reads: `view`, `when`, `choices`, `confirm` and `links`. Like a
 * draft it inherits nothing, so `state.players[name]` is undefined for a `name` of "constructor" that a caller made up.
 * Frozen objects without a prototype would do the same, but differ from literals in `assert.deepStrictEqual` and print oddly.
 */
export function readOnly(frozen: object): object {
  const known = proxies.get(frozen);
  if (known !== undefined) return known;
  const handler = new ReadOnly(rowOf(frozen));
  proxies.set(frozen, handler.proxy);
  return handler.proxy;
}

class ReadOnly implements ProxyHandler<object> {
  readonly proxy: object;
  readonly #row: Row;
  readonly #shape: Shape;

  constructor(row: Row) {
    this.#row = row;
    this.#shape = Array.isArray(row) ? LIST : OBJECT;
    this.proxy = new Proxy(this.#shape.target, this);
  }

  get(_target: object, key: PropertyKey): unknown {
    const value = this.#row[key];
    if (typeof key === "symbol") return value ?? this.#ofSymbol(key);
    if (typeof value === "function") return this.#method(key);
    if (typeof value !== "object" || value === null) return value;
    return key === "__proto__" && !Object.hasOwn(this.#row, key) ? undefined : readOnly(value);
  }

  has(_target: object, key: PropertyKey): boolean {
    return Object.hasOwn(this.#row, key) || (typeof key === "symbol" ? key in this.#row : this.#shape.methods?.has(key) === true);
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.#row);
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    if (!Object.hasOwn(this.#row, key)) return undefined;
    // A list's length is the one property of the target, and must be described as it is there.
    const isOfTarget = Object.hasOwn(target, key);
    return { value: this.get(target, key), writable: true, enumerable: !isOfTarget, configurable: !isOfTarget };
  }

  // As a frozen object does: an assignment throws in strict code, and `Reflect.set` is false.
  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }

  preventExtensions(): boolean {
    return false;
  }

  // ── what the list methods need ────────────────────────────────────────────

  readonly canSplice = false;

  items(): Row {
    return this.#row;
  }

  isDraft(): boolean {
    return false;
  }

  splice(): readonly unknown[] {
    throw new TypeError("A state is read only");
  }

  #method(key: PropertyKey): unknown {
    readFrom(this);
    return this.#shape.methods?.get(key);
  }

  #ofSymbol(key: symbol): unknown {
    if (key === FROZEN) return this.#row;
    return key === PART ? this : key === Symbol.toPrimitive ? toPrimitive : undefined;
  }
}
