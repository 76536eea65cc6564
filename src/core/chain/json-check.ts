import { EngineError, isList, type Json } from "../contract/index.ts";
import { classOf } from "../contract/internal.ts";

/** Arrays and objects inside one another, the outermost included. */
export const MAX_DEPTH = 128;

/** What one walk may still visit, in bytes of JSON counted low: a value that shares parts can be exponentially longer as text. */
export interface Allowance {
  left: number;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Created by a literal, JSON.parse or a spread; a class instance, a Map or a Date is not. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (Array.isArray(value)) return prototype === Array.prototype;
  if (prototype !== Object.prototype && (prototype !== null || value === Object.prototype)) return false;
  return Object.getOwnPropertySymbols(value).length === 0;
}

/** A value that is made when it is read may be another each time; one that is not enumerable no text carries. */
function isPlainAt(value: object, key: string): boolean {
  const found = Reflect.getOwnPropertyDescriptor(value, key);
  return found?.enumerable === true && found.get === undefined;
}

/** Not for lists: it takes three times as long there. */
export const holdsPlainValues = (value: object): boolean => Object.getOwnPropertyNames(value).every((key) => isPlainAt(value, key));

/** What a list has beside its items no text carries. */
export const holdsItemsOnly = (list: readonly unknown[]): boolean => Object.keys(list).length === list.length;

/** The fast walk: says whether, not where. Cycles end at the depth bound. */
export function isJson(value: unknown, depth: number, allowance: Allowance): value is Json {
  switch (typeof value) {
    case "string":
      return (allowance.left -= value.length + 2) >= 0 && value.isWellFormed();
    case "number":
      return (allowance.left -= 1) >= 0 && Number.isFinite(value);
    case "boolean":
      return (allowance.left -= 4) >= 0;
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return (allowance.left -= 4) >= 0;
  if ((allowance.left -= 2) < 0 || depth >= MAX_DEPTH || !isPlain(value)) return false;
  if (isList(value)) {
    for (let index = 0; index < value.length; index += 1) if (!isJson(value[index], depth + 1, allowance)) return false;
    return holdsItemsOnly(value);
  }
  if (!isObject(value)) return false;
  for (const key of Object.getOwnPropertyNames(value)) {
    allowance.left -= key.length + 3;
    if (!key.isWellFormed() || !isPlainAt(value, key) || !isJson(value[key], depth + 1, allowance)) return false;
  }
  return true;
}

const HIDDEN = "is hidden, not enumerable: assign it instead";

const isHidden = (value: object, key: PropertyKey): boolean => !Object.prototype.propertyIsEnumerable.call(value, key);

const step = (key: string): string => (/^[A-Za-z_$][\w$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`);

function whatIsWrong(
  value: unknown,
  path: string,
  above: readonly object[],
  allowance: Allowance,
): { path: string; why: string } | undefined {
  if ((allowance.left -= 1) < 0) return { path, why: "is too large" };
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : { path, why: "is text with a lone surrogate: keep whole characters, bytes as base64" };
    case "number":
      return Number.isFinite(value) ? undefined : { path, why: `is ${String(value)}: keep null or text instead` };
    case "boolean":
      return undefined;
    case "undefined":
      return { path, why: "is undefined: leave the key away or keep null" };
    case "bigint":
      return { path, why: "is a BigInt: keep its text instead" };
    case "object":
      break;
    default:
      return { path, why: `is a ${typeof value}: state is plain JSON` };
  }
  if (value === null) return undefined;
  if (above.includes(value)) return { path, why: "contains itself: keep a key or an id instead" };
  if (above.length >= MAX_DEPTH) return { path, why: `is nested deeper than ${MAX_DEPTH}` };
  if (!isPlain(value)) {
    const symbols = Object.getOwnPropertySymbols(value).length > 0;
    const name = value === Object.prototype ? "prototype" : classOf(value);
    return { path, why: symbols ? "has a symbol as key" : `is a ${name}: keep plain objects, arrays, text and numbers instead` };
  }
  const inside = [...above, value];
  if (isList(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const wrong = whatIsWrong(value[index], `${path}[${index}]`, inside, allowance);
      if (wrong) return wrong;
    }
    const hidden = value.findIndex((_item, index) => isHidden(value, index));
    if (hidden >= 0) return { path: `${path}[${hidden}]`, why: HIDDEN };
    const stray = Object.keys(value)[value.length];
    return stray === undefined ? undefined : { path: path + step(stray), why: "stands in a list beside its items: keep an object instead" };
  }
  for (const key of Object.getOwnPropertyNames(value)) {
    if (!isPlainAt(value, key))
      return { path: path + step(key), why: isHidden(value, key) ? HIDDEN : "is a getter: keep the value it gives instead" };
    const item: unknown = Reflect.get(value, key);
    if (!key.isWellFormed()) return { path, why: `has the key ${JSON.stringify(key)} with a lone surrogate` };
    const wrong = whatIsWrong(item, path + step(key), inside, allowance);
    if (wrong) return wrong;
  }
  return undefined;
}

/** The slow walk, once the fast one said no: names the first place that is not JSON. */
export function notJson(root: unknown, name: string, allowance: Allowance): EngineError {
  if (allowance.left < 0)
    return new EngineError("STATE_TOO_LARGE", `${name} is larger than its bound: keep less of it, or split it over several actors.`);
  const wrong = whatIsWrong(root, name, [], { left: 10_000_000 });
  const path = wrong?.path ?? name;
  const shown = path.length > 200 ? `${path.slice(0, 100)}…${path.slice(-100)}` : path;
  return new EngineError("STATE_NOT_JSON", `${shown} ${wrong?.why ?? "is not JSON"}.`, { data: { path: shown } });
}

/** 64 MiB: far above any policy's `maxStateBytes`, low enough to end a walk. */
export const DEFAULT_BOUND = 64 * 1_048_576;

/** Throws `STATE_NOT_JSON` naming the place (as `name.…`), or `STATE_TOO_LARGE`, unless `value` is JSON that text can carry unchanged. */
export function check(value: unknown, name = "state", maxBytes = DEFAULT_BOUND): asserts value is Json {
  const allowance = { left: maxBytes };
  if (!isJson(value, 0, allowance)) throw notJson(value, name, allowance);
}
