import type { Json } from "../contract/index.ts";
import { isList, isObject } from "./json-check.ts";

// Far deeper than a message may be.
const DEEPEST = 1_000;

/**
 * Freezes what of `after` is not the same object as in `before` (which is frozen), in
 * place. Call it on what `diff` or `check` has passed. -0 becomes 0 on the way: its
 * text says 0, and a state read back must equal the live one.
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

/**
 * Freezes what a message brings, deeply, in place: what a turn could write to it, the chain would tell as sent (C3). It need not
 * be JSON yet: cycles end, and what is neither a plain object nor a list is left as it is.
 */
export function freezeBrought(value: unknown): void {
  if (!isObject(value) && !isList(value)) return;
  if (!isFreezable(value)) return;
  Object.freeze(value);
  freezeInside(value, undefined, 0);
}

// A caller's own frozen value may hold some that are not. `met` ends cycles among what is frozen, and most arguments need none.
function freezeInside(value: object, seen: Set<object> | undefined, depth: number): Set<object> | undefined {
  let met = seen;
  // Not its keys as a list: this runs for every turn, and JSON inherits none.
  for (const key in value) {
    const item: unknown = Reflect.get(value, key);
    if (typeof item !== "object" || item === null || !isFreezable(item)) continue;
    if (Object.isFrozen(item)) {
      met ??= new Set();
      if (met.has(item)) continue;
      met.add(item);
    } else Object.freeze(item);
    if (depth < DEEPEST) met = freezeInside(item, met, depth + 1);
  }
  return met;
}

function isFreezable(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
