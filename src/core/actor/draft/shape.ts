import type { Row } from "./row.ts";

/** How a part is treated by what it is: an object, or a list. */
export interface Shape {
  /** Answers for what a draft is to `Array.isArray`, never for what it holds: all drafts of a shape share it. */
  readonly target: object;
  /** What a draft has beside its keys, by name. */
  readonly methods?: ReadonlyMap<PropertyKey, unknown>;
  /** The same, open. */
  copy(before: Row): Row;
  /** Throws where such a value has no such key. */
  mayHold(key: PropertyKey): void;
  /** Whether a write there takes or gives keys. */
  reshapes(key: PropertyKey): boolean;
  /** Whether both have the same keys in the same order. */
  areAlike(before: Row, now: Row): boolean;
}
