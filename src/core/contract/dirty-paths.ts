// Owns: the hint by which a draft says where it changed a state. Does not own: the comparison (core/chain), the draft (core/actor).

type Container = Readonly<Record<string, unknown>>;

/** Where an object or array differs from what it was. A comparison of the two need not look anywhere else. */
export interface Changes {
  readonly before: Container;
  /** Frozen deeply. */
  readonly after: Container;
  /**
   * An upper bound of the bytes its text has grown by. Undefined unless only texts, numbers, booleans and null were assigned, to
   * keys that existed.
   */
  readonly growth: number | undefined;
  /** The keys whose values may differ, in any order. Undefined: any of them, since keys were added, removed or moved. */
  readonly keys: readonly string[] | undefined;
  /** The changes of the part at that key. Undefined: unknown, since the part was assigned as a whole. */
  at(key: string, before: unknown, after: unknown): Changes | undefined;
}

/**
 * A draft's changes, attached to the turn it made, so that the patch is made of the changed paths alone. Opaque and never stored: it
 * counts for one pair of states only, by identity, and only a draft can make one that counts.
 */
export class DirtyPaths {
  readonly #changes: Changes;

  static {
    // An author's code holds turns, and so hints. It must not reach the class through one.
    Reflect.deleteProperty(this.prototype, "constructor");
  }

  constructor(changes: Changes) {
    this.#changes = changes;
  }

  /** The changes from `before` to `after`. Undefined: `hint` is none, or is about other states, so all of `after` must be compared. */
  static between(hint: unknown, before: unknown, after: unknown): Changes | undefined {
    if (typeof hint !== "object" || hint === null || !(#changes in hint)) return undefined;
    const changes = hint.#changes;
    return changes.before === before && changes.after === after ? changes : undefined;
  }

  /** Absent from the text of a turn, which a journal may hold. */
  toJSON(): undefined {
    return undefined;
  }
}
