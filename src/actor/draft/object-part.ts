import { Part } from "./part.ts";
import { place, type Row } from "./row.ts";
import type { Scope } from "./scope.ts";
import { shown } from "./shown.ts";

const TARGET = shown({});

/** A spread of wider objects finds the hidden class of each key on its way, which takes five times as long as a dictionary. */
const WIDE = 128;

export class ObjectPart extends Part {
  constructor(before: object, scope: Scope, above: Part | undefined, isGiven: boolean) {
    super(before, TARGET, scope, above, isGiven);
  }

  protected copy(): Row {
    const { before } = this;
    const keys = Object.keys(before);
    if (keys.length <= WIDE) return { ...before };
    // Losing a key that is not its last makes an object a dictionary.
    const copy: Row = { a: 0, b: 0 };
    delete copy["a"];
    delete copy["b"];
    for (const key of keys) place(copy, key, before[key]);
    return copy;
  }

  protected mayHold(): void {}

  protected reshapes(): boolean {
    return false;
  }

  protected sameShape(): boolean {
    const now = Object.keys(this.now);
    const old = Object.keys(this.before);
    return (
      now.length === old.length && now.every((key, index) => key === old[index]) && Object.getOwnPropertySymbols(this.now).length === 0
    );
  }
}
