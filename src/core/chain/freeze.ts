import { isList, type Json } from "../contract/index.ts";
import { isObject } from "./json-check.ts";

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
