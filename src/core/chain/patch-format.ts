import type { Json } from "../contract/index.ts";
import type { Changes } from "../contract/internal.ts";

/** A key that goes. */
export const GONE = 0;
/** First item of a change inside a list. */
export const STEPS = 0;
/** First item of a key that goes to the end of its object, changed or (null) not. */
export const MOVED = 1;

/** The way through what changed. */
export interface Walk {
  /** The change between two values; undefined where they are equal as JSON. */
  between(before: Json, after: unknown, depth: number, changes?: Changes): Json | undefined;
  /** A new value, checked to be JSON. */
  take(value: unknown, depth: number): Json;
}
