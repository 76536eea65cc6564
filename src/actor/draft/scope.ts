import { DEEPEST } from "./freeze.ts";
import { ListPart } from "./list-part.ts";
import { ObjectPart } from "./object-part.ts";
import type { Part } from "./part.ts";
import { revoked } from "./revoked.ts";
import { isObject, isPlain, isRow, place, type Row } from "./row.ts";

/** What the drafts of one turn share. */
export class Scope {
  last: Part | undefined;
  /** A frozen value was put somewhere: only then is it worth asking which. */
  tookFrozen = false;
  #over = false;
  #byProxy: Map<object, Part> | undefined;
  /** The last of those. */
  #listed: Part | undefined;
  #met: Map<object, object> | undefined;

  /** `isGiven`: the author put it there, and not a turn before. */
  draft(value: object, above: Part | undefined, isGiven: boolean): Part {
    return Array.isArray(value) ? new ListPart(value, this, above, isGiven) : new ObjectPart(value, this, above, isGiven);
  }

  alive(): void {
    if (this.#over) throw revoked();
  }

  end(): void {
    this.#over = true;
  }

  isFrozenValue(value: object): boolean {
    return this.tookFrozen && Object.isFrozen(value);
  }

  /** What a value the author put somewhere becomes: of a draft its outcome, of his own the same object, frozen, with no draft in it. */
  settled(value: object): object {
    return this.part(value)?.settle() ?? this.#given(value, 0);
  }

  /** Whose draft it is. */
  part(value: object): Part | undefined {
    const byProxy = (this.#byProxy ??= new Map());
    for (let part = this.last; part !== undefined && part !== this.#listed; part = part.earlier) byProxy.set(part.proxy, part);
    this.#listed = this.last;
    return byProxy.get(value);
  }

  #given(value: object, depth: number): object {
    const met = (this.#met ??= new Map());
    const known: object | undefined = met.get(value);
    if (known !== undefined) return known;
    met.set(value, value);
    // Neither is JSON: the commit says so.
    if (depth === DEEPEST || !isPlain(value) || !isRow(value)) return value;
    const isOpen = !Object.isFrozen(value);
    let row: Row = value;
    for (const key of Object.keys(value)) {
      const item = value[key];
      const fit = isObject(item) ? (this.part(item)?.settle() ?? this.#given(item, depth + 1)) : item === 0 ? 0 : item;
      // What is got anew each time cannot be set: the commit refuses it.
      if (Object.is(fit, item) || Reflect.getOwnPropertyDescriptor(value, key)?.get !== undefined) continue;
      // His own frozen object holds a draft: it cannot be replaced there.
      if (!isOpen && row === value) met.set(value, (row = Array.isArray(value) ? Object.assign([], value) : { ...value }));
      place(row, key, fit);
    }
    return Object.freeze(row);
  }
}
