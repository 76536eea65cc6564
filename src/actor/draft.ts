import { create } from "mutative";

/** A state that may be written while a turn lasts. Dropping it is the roll-back (C3): the base never changes. */
export interface Draft {
  readonly state: object;
  /** The next state, deeply frozen; the base itself where nothing differs. Later writes to the draft do not reach it. */
  finish(): object;
}

/** `base` must be deeply frozen. A state of numbers, text, booleans and nulls only is copied: that costs a tenth of a proxy. */
export function openDraft(base: object): Draft {
  return isFlat(base) ? new FlatDraft(base) : new DeepDraft(base);
}

type Row = Record<string, unknown>;

class FlatDraft implements Draft {
  readonly state: Row;
  readonly #base: Row;
  constructor(base: Row) {
    this.#base = base;
    this.state = { ...base };
  }
  finish(): object {
    const base = this.#base;
    const draft = this.state;
    let known = 0;
    let changed = false;
    // One walk answers both questions: what stayed flat needs no second one to be frozen.
    let flat = true;
    for (const key in draft) {
      const value = draft[key];
      if (typeof value === "object" && value !== null) flat = false;
      if (!changed && (!Object.is(value, base[key]) || !Object.hasOwn(base, key))) changed = true;
      known += 1;
    }
    if (!changed && known === Object.keys(base).length) return base;
    // Copied once more: whoever kept the draft writes to the draft.
    const next = { ...draft };
    return flat ? Object.freeze(next) : freezeNew(next, base);
  }
}

class DeepDraft implements Draft {
  readonly state: object;
  readonly #base: object;
  readonly #finish: () => object;
  constructor(base: object) {
    this.#base = base;
    [this.state, this.#finish] = create<object>(base);
  }
  finish(): object {
    const next = this.#finish();
    return next === this.#base ? next : freezeNew(next, this.#base);
  }
}

function isFlat(state: object): state is Row {
  if (!isRow(state)) return false;
  for (const key in state) {
    const value = state[key];
    if (typeof value === "object" && value !== null) return false;
  }
  return true;
}

function isRow(state: object): state is Row {
  return !Array.isArray(state);
}

/** Freezes deeply, in place, and returns the same object. */
export function freezeDeep<T extends object>(value: T): T {
  return freezeNew(value, undefined);
}

/** Freezes what `value` does not share with `base` at the same place, which is frozen already. */
function freezeNew<T extends object>(value: T, base: unknown): T {
  walk(value, base, undefined);
  return value;
}

// An author's own frozen value may hold some that are not: only identity with the base stops the walk, and `seen` ends cycles.
function walk(value: object, base: unknown, seen: Set<object> | undefined): Set<object> | undefined {
  let met = seen;
  if (Object.isFrozen(value)) {
    met ??= new Set();
    if (met.has(value)) return met;
    met.add(value);
  } else Object.freeze(value);
  const old = typeof base === "object" && base !== null ? base : NOTHING;
  for (const key of Object.keys(value)) {
    const item: unknown = Reflect.get(value, key);
    if (typeof item !== "object" || item === null) continue;
    const before: unknown = Reflect.get(old, key);
    if (item !== before) met = walk(item, before, met);
  }
  return met;
}

const NOTHING = Object.freeze({});
