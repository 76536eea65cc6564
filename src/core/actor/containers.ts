// Owns: how drafts and read-only states treat objects and arrays: copies, array methods, the value behind a proxy. Does not own: the
// proxies themselves (draft.ts, read-only.ts).
import { setOwn } from "../contract/internal.ts";
import { badTurn } from "./author-errors.ts";

/** An object or array by its keys; those of an array are its indices, as text. */
export type Container = Record<PropertyKey, unknown>;

/** Every object is one. */
export function asContainer(value: object): Container;
export function asContainer(value: object): object {
  return value;
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Created by a literal, JSON.parse or a spread. The prototypes themselves are not plain. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) return true;
  return prototype === Object.prototype ? value !== Array.prototype : prototype === null && value !== Object.prototype;
}

/** A writable copy that keeps what is not JSON (symbols, getters, hidden keys), so that the commit finds and refuses it. */
export function writableCopy(value: Container): Container {
  if (Array.isArray(value)) return asContainer(Object.assign([], value, { length: value.length }));
  const copy: Container = {};
  for (const key of Reflect.ownKeys(value)) {
    const found = { ...Reflect.getOwnPropertyDescriptor(value, key), configurable: true };
    Object.defineProperty(copy, key, found.get === undefined ? { ...found, writable: true } : found);
  }
  return copy;
}

// ── the frozen value behind a read-only proxy ───────────────────────────────

/** Reads the handler from its read-only proxy. A symbol, so that no text from outside names it. */
export const FROZEN = Symbol("frozen");

/** The frozen value behind a read-only proxy; any other value unchanged. Throws what reading `value` throws. */
export function frozenOf(value: object): object;
export function frozenOf(value: unknown): unknown;
export function frozenOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  const handler: unknown = Reflect.get(value, FROZEN);
  // An author's own proxy may return a value for every key, or pass this one on.
  return isObject(handler) && Reflect.get(handler, "proxy") === value ? Reflect.get(handler, "frozen") : value;
}

// ── methods of arrays ───────────────────────────────────────────────────────

/** What the methods of an array need of the proxy's handler. */
interface ArrayNode {
  readonly proxy: object;
  /** Every item, without the drafts of any. */
  items(): Container;
  isDraft(value: object): boolean;
  /** False for values of the author's, which may hold anything. */
  readonly canSplice: boolean;
  splice(splice: Splice): readonly unknown[];
}

export interface Splice {
  readonly from: number;
  readonly count: number;
  readonly items: readonly unknown[];
}

/** A method of arrays that is one splice. */
interface ArrayMutator {
  readonly method: (this: never, ...given: never) => unknown;
  splice(given: readonly unknown[], length: number): Splice;
  result(removed: readonly unknown[], length: number): unknown;
}

const integer = (value: unknown): number => Math.trunc(Number(value)) || 0;

const MUTATORS: readonly ArrayMutator[] = [
  {
    method: Array.prototype.shift,
    splice: (_, length) => ({ from: 0, count: Math.min(length, 1), items: [] }),
    result: ([first]) => first,
  },
  {
    method: Array.prototype.unshift,
    splice: (items) => ({ from: 0, count: 0, items }),
    result: (_, length) => length,
  },
  {
    method: Array.prototype.splice,
    splice: (given, length) => {
      const [start, count, ...items] = given;
      const at = integer(start);
      const from = at < 0 ? Math.max(0, length + at) : Math.min(at, length);
      // Without a second argument everything after `start` is removed; without any, nothing.
      const most = given.length === 1 ? length : integer(count);
      return { from, count: Math.min(length - from, Math.max(0, most)), items };
    },
    result: (removed) => removed,
  },
];

/** Reads the handler from its proxy. A symbol, so that no text from outside names it. */
export const NODE = Symbol("node");

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

const SEARCHES: ReadonlySet<unknown> = new Set([Array.prototype.includes, Array.prototype.indexOf, Array.prototype.lastIndexOf]);

const OF_METHODS = ["apply", "bind", "call"].map((name) => [name, sealed(copyOf(methodAt(Function.prototype, name)))] as const);

/**
 * The methods of an array's draft, by name. They are sealed copies: author code may index an array by a caller's text and write to
 * what it finds, which must reach neither `Array.prototype` nor `Function.prototype`. `constructor` and `toString` are plain keys.
 */
const ARRAY_METHODS: ReadonlyMap<PropertyKey, Method> = new Map(
  Object.getOwnPropertyNames(Array.prototype).flatMap((name) => {
    if (name === "length" || name === "constructor" || name === "toString") return [];
    const method = arrayMethod(methodAt(Array.prototype, name));
    for (const [key, value] of OF_METHODS) Object.defineProperty(method, key, { value });
    return [[name, sealed(method)] as const];
  }),
);

/** `String(draft)` and `${draft}`, which find no `toString`. */
export function toPrimitive(this: unknown): string {
  return Array.isArray(this) ? this.join() : "[object Object]";
}

function arrayMethod(native: Method): Method {
  const mutator = MUTATORS.find(({ method }) => method === native);
  if (mutator !== undefined)
    return function mutate(this: unknown, ...given: readonly unknown[]): unknown {
      const node = nodeOf(this);
      if (node?.canSplice !== true) return Reflect.apply(native, this, given);
      const length = (): number => Number(node.items()["length"]);
      return mutator.result(node.splice(mutator.splice(given, length())), length());
    };
  if (!SEARCHES.has(native)) return copyOf(native);
  return function search(this: unknown, ...given: readonly unknown[]): unknown {
    const node = nodeOf(this);
    const [item, ...from] = given;
    // A draft is found only by reading the array's draft, item by item. Everything else is the same without drafts.
    if (node === undefined || (isObject(item) && node.isDraft(item))) return Reflect.apply(native, this, given);
    return Reflect.apply(native, node.items(), [frozenOf(item), ...from]);
  };
}

function copyOf(native: Method): Method {
  return function method(this: unknown, ...given: readonly unknown[]): unknown {
    return Reflect.apply(native, this, given);
  };
}

function sealed(method: Method): Method {
  Object.defineProperty(method, "prototype", { value: undefined });
  Object.setPrototypeOf(method, null);
  return Object.freeze(method);
}

// A method is nearly always called as soon as it is read, so the handler it was read from is at hand.
let last: ArrayNode | undefined;

/** The method of that name, read from the proxy of `node`. */
export function methodOf(node: ArrayNode, strategy: CopyStrategy, key: PropertyKey): unknown {
  last = node;
  return strategy.methods?.get(key);
}

function nodeOf(value: unknown): ArrayNode | undefined {
  const node = last;
  last = undefined;
  if (node?.proxy === value) return node;
  const found: unknown = isObject(value) ? Reflect.get(value, NODE) : undefined;
  return isNode(found) ? found : undefined;
}

/** Nothing else is under `NODE`. */
function isNode(value: unknown): value is ArrayNode {
  return value !== undefined;
}

function methodAt(prototype: object, name: string): Method {
  const method: unknown = Reflect.get(prototype, name);
  if (isMethod(method)) return method;
  throw new TypeError(`No method ${name}.`);
}

function isMethod(value: unknown): value is Method {
  return typeof value === "function";
}

// ── objects and arrays ──────────────────────────────────────────────────────

/** What differs between the drafts of objects and those of arrays. */
export interface CopyStrategy {
  /** The target of the proxy: only tells `Array.isArray` and logs what it is. All drafts of a strategy share it. */
  readonly target: object;
  /** The methods a draft has besides its keys, by name. */
  readonly methods?: ReadonlyMap<PropertyKey, unknown>;
  /** A writable copy. */
  copy(before: Container): Container;
  /** Throws if such a container cannot have the key. */
  checkKey(key: PropertyKey): void;
  /** Whether an assignment to the key can add or remove others. */
  changesKeys(key: PropertyKey): boolean;
  /** Whether both have the same keys in the same order. */
  haveSameKeys(before: Container, now: Container): boolean;
}

/** A spread of a wider object looks up the hidden class of each key, which takes five times as long as building a dictionary. */
const WIDE = 128;

const OBJECTS: CopyStrategy = {
  target: inspectable({}),

  copy(before) {
    const keys = Object.keys(before);
    if (keys.length <= WIDE) return { ...before };
    // Deleting a key that is not the last one turns an object into a dictionary.
    const copy: Container = { a: 0, b: 0 };
    delete copy["a"];
    delete copy["b"];
    for (const key of keys) setOwn(copy, key, before[key]);
    return copy;
  },

  checkKey() {},

  changesKeys: () => false,

  haveSameKeys(before, now) {
    const keys = Object.keys(now);
    const old = Object.keys(before);
    return keys.length === old.length && keys.every((key, index) => key === old[index]) && Object.getOwnPropertySymbols(now).length === 0;
  },
};

const ARRAYS: CopyStrategy = {
  target: inspectable([]),

  methods: ARRAY_METHODS,

  copy(before) {
    // Not `slice`, which takes twenty times as long on a frozen array.
    return asContainer(Array.isArray(before) ? [...before] : []);
  },

  checkKey(key) {
    // An array's last index is the one below 4294967295.
    if (typeof key === "symbol" || String(Number(key) >>> 0) !== key || key === "4294967295")
      throw badTurn(`A list holds items only, and ${JSON.stringify(String(key))} is no place in it: store an object alongside it.`);
  },

  changesKeys: (key) => key === "length",

  haveSameKeys: (before, now) => now["length"] === before["length"],
};

export const strategyOf = (container: Container): CopyStrategy => (Array.isArray(container) ? ARRAYS : OBJECTS);

/** `target`, by which Node prints a proxy: prints what the proxy holds instead. */
function inspectable<T extends object>(target: T): T {
  return Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), { value: printed, configurable: true });
}

function printed(this: object): unknown {
  try {
    return Array.isArray(this) ? Array.from<unknown>(this) : { ...this };
  } catch {
    // Logging must not fail because the turn is over.
    return "<draft of a turn that is over>";
  }
}
