import type { Json } from "../contract/index.ts";

/** A key that goes. */
export const GONE = 0;
/** First item of a change inside a list. */
export const STEPS = 0;
/** First item of a key that goes to the end of its object, changed or (null) not. */
export const MOVED = 1;

/** The change between two values; undefined where they are equal as JSON. */
export type Between = (before: Json, after: unknown, depth: number) => Json | undefined;
/** A new value, checked to be JSON. */
export type Take = (value: unknown, depth: number) => Json;
