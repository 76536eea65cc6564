/** A doc's id: 22 bits for its owner, 41 for its time in milliseconds since 2020. */
const TIME_BITS = 41n;
const LAST_TIME = 2 ** 41 - 1;
const EPOCH = 1_577_836_800_000;
export const MOST_OWNERS = 2 ** 22 - 1;

/** Owners that are no principal. */
export const EVERYBODY = 0;
export const NOBODY = 1;

const slotOf = (at: number): number => Math.min(LAST_TIME, Math.max(0, Math.floor(at) - EPOCH));
const idOf = (owner: number, slot: number): bigint => (BigInt(owner) << TIME_BITS) | BigInt(Math.min(LAST_TIME, slot));

/** An id for a text of that time: its own, or where that is taken one soon after. `salt` tells apart those that look for one at the same time. */
export function freeId(
  owner: number,
  at: number,
  salt: number,
  taken: (id: bigint) => boolean,
): { readonly id: bigint; readonly late: number } {
  const slot = slotOf(at);
  // Twice as far with each step: where thousands came at once, one by one would be a walk along all of them.
  for (let reach = 1, late = 0; ; late = reach + (mixed(salt + reach) % reach), reach *= 2) {
    const id = slot + late <= LAST_TIME ? idOf(owner, slot + late) : idOf(owner, LAST_TIME - late);
    if (!taken(id)) return { id, late };
  }
}

function mixed(value: number): number {
  const word = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  return (word ^ (word >>> 15)) >>> 0;
}

export type Range = readonly [first: bigint, last: bigint];

/** The texts of all owners. */
export const WHOLE: Range = [0n, idOf(MOST_OWNERS, LAST_TIME)];

/** Where an owner's texts from `after` to before `before` lie; `late` is how much later than its time a text of that owner lies at most. */
export const rangeOf = (owner: number, { after, before }: Times, late: number): Range => [
  idOf(owner, after === undefined ? 0 : slotOf(after)),
  idOf(owner, before === undefined ? LAST_TIME : slotOf(before) + late),
];

/** Milliseconds since 1970: not earlier than `after`, earlier than `before`. */
export interface Times {
  readonly after?: number;
  readonly before?: number;
}

/** Before 0: `one` is of an earlier time, whoever's it is. */
export const compareTimes = (one: bigint, other: bigint): number => Number(BigInt.asUintN(41, one) - BigInt.asUintN(41, other));
