// Owns: a committed state as author code reads it. Does not own: freezing it, or the draft that a turn writes to (draft.ts).
import { asContainer, type Container, type CopyStrategy, FROZEN, methodOf, NODE, strategyOf, toPrimitive } from "./containers.ts";

/**
 * A committed state (deeply frozen JSON) for author code that only reads: `view`, `enabled`, `choices`, `confirm` and `links`. Like a
 * draft it inherits nothing, so `state.players[name]` is undefined for a `name` of "constructor" that a caller made up. Frozen objects
 * without a prototype would do the same, but differ from literals in `assert.deepStrictEqual` and print oddly.
 */
export function readOnly(state: object): object {
  // Not remembered: each turn makes a state, and an entry of a weak map for each costs the garbage collector more than the proxy.
  return new ReadOnly(asContainer(state)).proxy;
}

/** One proxy for each part of a state, so that author code may compare parts, and store results by them: most outlive a turn. */
const parts = new WeakMap<object, object>();

function partOf(frozen: object): object {
  const known = parts.get(frozen);
  if (known !== undefined) return known;
  const { proxy } = new ReadOnly(asContainer(frozen));
  parts.set(frozen, proxy);
  return proxy;
}

class ReadOnly implements ProxyHandler<object> {
  readonly proxy: object;
  readonly frozen: Container;
  readonly #strategy: CopyStrategy;

  constructor(frozen: Container) {
    this.frozen = frozen;
    this.#strategy = strategyOf(frozen);
    this.proxy = new Proxy(this.#strategy.target, this);
  }

  get(_target: object, key: PropertyKey): unknown {
    const value = this.frozen[key];
    if (typeof key === "symbol") return value ?? this.#ofSymbol(key);
    if (typeof value === "function") return methodOf(this, this.#strategy, key);
    if (typeof value !== "object" || value === null) return value;
    return key === "__proto__" && !Object.hasOwn(this.frozen, key) ? undefined : partOf(value);
  }

  has(_target: object, key: PropertyKey): boolean {
    if (Object.hasOwn(this.frozen, key)) return true;
    return typeof key === "symbol" ? key in this.frozen : this.#strategy.methods?.has(key) === true;
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.frozen);
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    if (!Object.hasOwn(this.frozen, key)) return undefined;
    // An array's length is the target's only property, and must be described as it is there.
    const isOfTarget = Object.hasOwn(target, key);
    return { value: this.get(target, key), writable: true, enumerable: !isOfTarget, configurable: !isOfTarget };
  }

  // As with a frozen object, an assignment throws in strict code, and `Reflect.set` returns false.
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

  // ── for the methods of arrays ─────────────────────────────────────────────

  readonly canSplice = false;

  items(): Container {
    return this.frozen;
  }

  isDraft(): boolean {
    return false;
  }

  splice(): readonly unknown[] {
    throw new TypeError("A state is read only");
  }

  #ofSymbol(key: symbol): unknown {
    if (key === FROZEN) return this;
    return key === NODE ? this : key === Symbol.toPrimitive ? toPrimitive : undefined;
  }
}
