import { vouch } from "../../contract/internal.ts";
import type { Part } from "./part.ts";
import { Scope } from "./scope.ts";

/** A state that may be written while a turn lasts. Dropping it is the roll-back (C3): the base never changes. */
export interface Draft {
  readonly state: object;
  /** The next state, deeply frozen; the base itself where nothing differs. The draft is dead afterwards. */
  finish(): object;
  /** Without a next state: the draft is dead. */
  drop(): void;
}

/** `base` must be deeply frozen, and JSON. */
export function openDraft(base: object): Draft {
  return new RootDraft(base);
}

class RootDraft implements Draft {
  readonly #scope: Scope = new Scope();
  readonly #root: Part;
  constructor(base: object) {
    this.#root = this.#scope.draft(base, undefined, false);
  }
  get state(): object {
    return this.#root.proxy;
  }
  finish(): object {
    this.#scope.end();
    const root = this.#root;
    const next = root.settle();
    if (next !== root.before) vouch(root);
    return next;
  }
  drop(): void {
    this.#scope.end();
  }
}
