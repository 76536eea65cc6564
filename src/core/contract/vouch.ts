/** An object that a draft changed, and where: whoever compares the two need look nowhere else. */
export interface Written {
  readonly before: Readonly<Record<string, unknown>>;
  /** Frozen to the bottom. */
  readonly after: Readonly<Record<string, unknown>>;
  /** By how many bytes its text has grown at most. Undefined: not only texts, numbers, booleans and null were put, in places that were there. */
  readonly growth: number | undefined;
  /** Those that may hold something else, in any order. Undefined: keys came, went or moved, so any of them. */
  readonly keys: readonly string[] | undefined;
  /** What is known of the part that was and is at that key. Undefined: nothing, it was put there. */
  at(key: string, was: unknown, now: unknown): Written | undefined;
}

// One place, not a mark on the state or a table of them: a turn's state is planned right after it was drafted, marks can be
// found and put on other objects, and a table costs every turn. Where another turn came between, all is looked at.
let last: Written | undefined;

/** A draft's word for the state it has made. */
export function vouch(written: Written): void {
  last = written;
}

/** The word for just these two, once; undefined: there is none, and `after` is to be looked at in full. */
export function vouchedFor(before: unknown, after: unknown): Written | undefined {
  const written = last;
  last = undefined;
  return written !== undefined && written.after === after && written.before === before ? written : undefined;
}
