// Owns: checking, measuring and freezing the JSON of states, messages and replies. Does not own: comparing it (patch.ts).
import { EngineError, isJsonObject, isList, type Json, type Reply, TroupeError } from "../contract/index.ts";
import { classOf, SHORT_BYTES, textBytes } from "../contract/internal.ts";

/** The deepest nesting of arrays and objects, the outermost included. */
export const MAX_DEPTH = 128;

/** How many bytes of JSON one walk may still visit (a lower bound). A value with shared parts can be exponentially longer as text. */
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

/** A getter may return another value each time; a key that is not enumerable is missing from the text. */
function isPlainAt(value: object, key: string): boolean {
  const found = Reflect.getOwnPropertyDescriptor(value, key);
  return found?.enumerable === true && found.get === undefined;
}

/** Not for arrays, where it takes three times as long. */
export const holdsPlainValues = (value: object): boolean => Object.getOwnPropertyNames(value).every((key) => isPlainAt(value, key));

/** Keys of an array other than its indices are missing from the text. */
export const holdsItemsOnly = (list: readonly unknown[]): boolean => Object.keys(list).length === list.length;

/** The fast walk: returns whether, not where. Cycles end at the depth limit. */
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

function findWrong(
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
      const wrong = findWrong(value[index], `${path}[${index}]`, inside, allowance);
      if (wrong) return wrong;
    }
    const hidden = value.findIndex((_item, index) => isHidden(value, index));
    if (hidden >= 0) return { path: `${path}[${hidden}]`, why: HIDDEN };
    const extra = Object.keys(value)[value.length];
    return extra === undefined
      ? undefined
      : { path: path + step(extra), why: "stands in a list but is not an item: use an object instead" };
  }
  for (const key of Object.getOwnPropertyNames(value)) {
    if (!isPlainAt(value, key))
      return { path: path + step(key), why: isHidden(value, key) ? HIDDEN : "is a getter: keep the value it gives instead" };
    const item: unknown = Reflect.get(value, key);
    if (!key.isWellFormed()) return { path, why: `has the key ${JSON.stringify(key)} with a lone surrogate` };
    const wrong = findWrong(item, path + step(key), inside, allowance);
    if (wrong) return wrong;
  }
  return undefined;
}

/** The slow walk, after the fast one failed: names the first place that is not JSON. */
export function notJson(root: unknown, name: string, allowance: Allowance): EngineError {
  if (allowance.left < 0)
    return new EngineError("STATE_TOO_LARGE", `${name} is larger than its bound: keep less of it, or split it over several actors.`);
  const wrong = findWrong(root, name, [], { left: 10_000_000 });
  const path = wrong?.path ?? name;
  const short = path.length > 200 ? `${path.slice(0, 100)}…${path.slice(-100)}` : path;
  return new EngineError("STATE_NOT_JSON", `${short} ${wrong?.why ?? "is not JSON"}.`, { data: { path: short } });
}

/** 64 MiB: far above any policy's `maxStateBytes`, low enough to end a walk. */
export const DEFAULT_BOUND = 64 * 1_048_576;

/** Throws `STATE_NOT_JSON` naming the place (as `name.…`), or `STATE_TOO_LARGE`, unless `value` is JSON that text can carry unchanged. */
export function check(value: unknown, name = "state", maxBytes = DEFAULT_BOUND): asserts value is Json {
  const allowance = { left: maxBytes };
  if (!isJson(value, 0, allowance)) throw notJson(value, name, allowance);
}

// ── what a turn returns ─────────────────────────────────────────────────────
// A behaviour may be written without types, or run foreign code.

// Shared: walks do not overlap, and one object per turn would cost.
const allowance: Allowance = { left: 0 };

function isBoundedJson(value: unknown): value is Json {
  allowance.left = DEFAULT_BOUND;
  return isJson(value, 0, allowance);
}

const notJsonInTurn = (value: unknown, name: string): TroupeError<"BAD_TURN"> =>
  new TroupeError("BAD_TURN", `A turn's ${notJson(value, name, allowance).message}`);

/** Throws `BAD_TURN`, naming the place (as `name.…`), unless it is JSON that text can carry unchanged. */
export function checkJson(value: unknown, name: string): asserts value is Json {
  if (!isBoundedJson(value)) throw notJsonInTurn(value, name);
}

/** Throws `BAD_TURN` unless it is one of the three replies, and JSON. */
export function checkReply(reply: unknown, name: string): asserts reply is Reply {
  if (!isObject(reply)) throw noReply(name);
  const { ok } = reply;
  if (ok !== undefined) {
    const keys = Object.keys(reply);
    if (keys.length !== 1 || keys[0] !== "ok") throw noReply(name);
    if (!isBoundedJson(ok)) throw notJsonInTurn(ok, `${name}.ok`);
    return;
  }
  checkJson(reply, name);
  const { refused, needs } = reply;
  const isRefusal = isJsonObject(refused) && typeof refused["code"] === "string" && typeof refused["message"] === "string";
  if (!isRefusal && !isJsonObject(needs)) throw noReply(name);
}

const noReply = (name: string): TroupeError<"BAD_TURN"> =>
  new TroupeError("BAD_TURN", `A turn's ${name} is no reply: give \`ok\`, \`refused\` or \`needs\`.`);

// ── size ────────────────────────────────────────────────────────────────────

/** An upper bound of the bytes of the value's text, far cheaper than writing it. */
export function atMostBytes(value: Json | undefined): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value !== "object" || value === null) return SHORT_BYTES;
  let bytes = 2;
  if (isList(value)) for (let index = 0; index < value.length; index += 1) bytes += atMostBytes(value[index]) + 1;
  // `for in` allocates no list of keys: this runs for every turn, and JSON inherits no keys.
  else for (const key in value) bytes += textBytes(key) + 2 + atMostBytes(value[key]);
  return bytes;
}

export const exactBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value));

// ── freezing ────────────────────────────────────────────────────────────────

/**
 * Freezes, in place, every part of `after` that is not the same object as in `before`, which is frozen. `after` must have passed `diff` or
 * `check`. -0 becomes 0, as it would in text: a state that is read back must equal the live one.
 */
export function freezeNew<T>(before: Json | undefined, after: T): T {
  if (before !== after) freezeValue(before, after);
  return after;
}

function freezeValue(before: unknown, after: unknown): void {
  if (isList(after)) {
    const old = isList(before) ? before : undefined;
    for (let index = 0; index < after.length; index += 1) freezeItem(after, index, old?.[index]);
    Object.freeze(after);
  } else if (isObject(after)) {
    const old = isObject(before) ? before : undefined;
    for (const key of Object.keys(after)) freezeItem(after, key, old?.[key]);
    Object.freeze(after);
  }
}

function freezeItem(parent: object, key: string | number, old: unknown): void {
  const item: unknown = Reflect.get(parent, key);
  if (typeof item === "object") {
    if (item !== null && item !== old) freezeValue(old, item);
  } else if (item === 0 && Object.is(item, -0)) Reflect.set(parent, key, 0);
}
