import { type Changes, DEEPEST, setOwn } from "../../contract/internal.ts";
import { frozenOf } from "./frozen-of.ts";
import { Part } from "./part.ts";
import { revoked } from "./revoked.ts";
import { isObject, isPlain, opened, type Row, rowOf } from "./row.ts";

/** `base` must be deeply frozen, and JSON. */
export function openDraft(base: object): Draft {
  return new Draft(base);
}

/** A state that may be written while a turn lasts. Dropping it is the roll-back (C3): the base never changes. */
export class Draft {
  last: Part | undefined;
  /** A frozen value was put somewhere: only then is it worth asking which. */
  tookFrozen = false;
  readonly #root: Part;
  #over = false;
  #byProxy: Map<object, Part> | undefined;
  /** The last of those. */
  #listed: Part | undefined;
  #met: Map<object, Row> | undefined;
  #owned: Map<object, Part> | undefined;

  constructor(base: object) {
    this.#root = new Part(rowOf(base), this, "state");
  }

  get state(): object {
    return this.#root.proxy;
  }

  /** What changed, and so the next state; undefined if nothing did. Revokes the draft. */
  finish(): Changes | undefined {
    this.#over = true;
    const root = this.#root;
    return root.settle() === root.before ? undefined : root;
  }

  /** Without a next state: the draft is dead. */
  drop(): void {
    this.#over = true;
  }

  // ── what its parts share ──────────────────────────────────────────────────

  alive(): void {
    if (this.#over) throw revoked();
  }

  isFrozenValue(value: object): boolean {
    return this.tookFrozen && Object.isFrozen(value);
  }

  /** What a value the author put somewhere becomes: of a draft its outcome, of his own the same object, frozen, with no draft in it. */
  settled(value: object): Row {
    return this.part(value)?.settle() ?? this.#given(rowOf(frozenOf(value)), 0);
  }

  /** Whose draft it is. */
  part(value: object): Part | undefined {
    const byProxy = (this.#byProxy ??= new Map());
    for (let part = this.last; part !== undefined && part !== this.#listed; part = part.earlier) byProxy.set(part.proxy, part);
    this.#listed = this.last;
    return byProxy.get(value);
  }

  /** The draft of an object that the author put somewhere; the object itself where it is a draft, or nothing a state can hold. */
  owned(value: object): object {
    const owned = (this.#owned ??= new Map<object, Part>());
    const known = owned.get(value);
    if (known !== undefined) return known.proxy;
    if (!isPlain(value) || this.part(value) !== undefined) return value;
    const part = new Part(rowOf(value), this, "own");
    owned.set(value, part);
    return part.proxy;
  }

  #given(value: Row, depth: number): Row {
    const met = (this.#met ??= new Map());
    const known: Row | undefined = met.get(value);
    if (known !== undefined) return known;
    met.set(value, value);
    // Neither is JSON: the commit says so.
    if (depth === DEEPEST || !isPlain(value)) return value;
    const isOpen = !Object.isFrozen(value);
    let row = value;
    for (const key of Object.keys(value)) {
      const item = value[key];
      const fit = isObject(item) ? (this.part(item)?.settle() ?? this.#given(rowOf(frozenOf(item)), depth + 1)) : item === 0 ? 0 : item;
      // What is got anew each time cannot be set: the commit refuses it.
      if (Object.is(fit, item) || Reflect.getOwnPropertyDescriptor(value, key)?.get !== undefined) continue;
      // His own frozen object holds a draft: it cannot be replaced there.
      if (!isOpen && row === value) met.set(value, (row = opened(value)));
      setOwn(row, key, fit);
    }
    return Object.freeze(row);
  }
}
