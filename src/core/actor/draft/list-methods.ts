import { frozenOf } from "./frozen-of.ts";
import { isObject, type Row } from "./row.ts";
import { type Splice, spliceOf } from "./splice.ts";

/** What the methods of a list need of its draft. */
interface ListPart {
  readonly proxy: object;
  /** Every item, below the drafts of any. */
  items(): Row;
  isDraft(value: object): boolean;
  /** Whether `splice` may be used: what the author gave may hold anything. */
  readonly canSplice: boolean;
  splice(splice: Splice): readonly unknown[];
}

/** Reads the part from a draft: a symbol, so that no text from outside names it. */
export const PART = Symbol("part");

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

const SEARCHES: ReadonlySet<unknown> = new Set([Array.prototype.includes, Array.prototype.indexOf, Array.prototype.lastIndexOf]);

const OF_METHODS = ["apply", "bind", "call"].map((name) => [name, sealed(copyOf(methodAt(Function.prototype, name)))] as const);

/**
 * The methods that the draft of a list has, by name. They are sealed copies: author code may index a list by a caller's text and
 * write below what it finds, which must reach neither `Array.prototype` nor `Function.prototype`. The draft's `constructor` and
 * `toString` are keys like any other.
 */
export const LIST_METHODS: ReadonlyMap<PropertyKey, Method> = new Map(
  Object.getOwnPropertyNames(Array.prototype).flatMap((name) => {
    if (name === "length" || name === "constructor" || name === "toString") return [];
    const method = listMethod(methodAt(Array.prototype, name));
    for (const [key, value] of OF_METHODS) Object.defineProperty(method, key, { value });
    return [[name, sealed(method)] as const];
  }),
);

/** `String(draft)` and `${draft}`, which find no `toString`. */
export function toPrimitive(this: unknown): string {
  return Array.isArray(this) ? this.join() : "[object Object]";
}

function listMethod(native: Method): Method {
  const splicing = spliceOf(native);
  if (splicing !== undefined)
    return function splice(this: unknown, ...given: readonly unknown[]): unknown {
      const part = partOf(this);
      if (part?.canSplice !== true) return Reflect.apply(native, this, given);
      const length = (): number => Number(part.items()["length"]);
      return splicing.told(part.splice(splicing.of(given, length())), length());
    };
  if (!SEARCHES.has(native)) return copyOf(native);
  return function search(this: unknown, ...given: readonly unknown[]): unknown {
    const part = partOf(this);
    const [item, ...from] = given;
    // Only a draft is found by reading the list's draft, place by place. All else is the same below it.
    if (part === undefined || (isObject(item) && part.isDraft(item))) return Reflect.apply(native, this, given);
    return Reflect.apply(native, part.items(), [frozenOf(item), ...from]);
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

// A method is nearly always called as soon as it is read, and this is the fast way from its draft to the part.
let last: ListPart | undefined;

/** The part from whose draft a method is read. */
export function readFrom(part: ListPart): void {
  last = part;
}

function partOf(value: unknown): ListPart | undefined {
  const part = last;
  last = undefined;
  if (part?.proxy === value) return part;
  const found: unknown = isObject(value) ? Reflect.get(value, PART) : undefined;
  return isPart(found) ? found : undefined;
}

/** Nothing else is under `PART`. */
function isPart(value: unknown): value is ListPart {
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
