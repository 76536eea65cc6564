import { badTurn } from "../bad-turn.ts";
import { Part } from "./part.ts";
import { isRow, type Row } from "./row.ts";
import type { Scope } from "./scope.ts";
import { shown } from "./shown.ts";

const TARGET: readonly unknown[] = shown([]);

export class ListPart extends Part {
  readonly #before: readonly unknown[];
  constructor(before: readonly unknown[], scope: Scope, above: Part | undefined, isGiven: boolean) {
    super(before, TARGET, scope, above, isGiven);
    this.#before = before;
  }

  protected copy(): Row {
    // Not `slice`: of a frozen list it takes twenty times as long.
    const copy = [...this.#before];
    if (!isRow(copy)) throw new TypeError("No list.");
    return copy;
  }

  protected mayHold(key: PropertyKey): void {
    // The one below is the last place a list has.
    if (typeof key === "symbol" || String(Number(key) >>> 0) !== key || key === "4294967295")
      throw badTurn(`A list holds items only, and ${JSON.stringify(String(key))} is no place in it: keep an object beside it.`);
  }

  protected reshapes(key: PropertyKey): boolean {
    return key === "length";
  }

  protected sameShape(): boolean {
    return this.now["length"] === this.#before.length;
  }
}
