import type { Json } from "../contract/index.ts";
import { sameJson } from "../source/index.ts";
import { toPlain } from "./plain-json.ts";

/** Numbers that only rise: what has a higher one changed later. They begin with the time, so that they rise over a restart too. */
export class Revisions {
  #last: number;

  constructor(now: number) {
    this.#last = Math.floor(now);
  }

  get last(): number {
    return this.#last;
  }

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}

/** A state's value as JSON, and since which revision it is what it is. */
export interface Look {
  readonly revision: number;
  readonly plain: Json;
  /** It could not be written as JSON. */
  readonly fault?: unknown;
}

/** One state. What it was told is turned into JSON only when somebody looks: states may change faster than anybody reads. */
export class StateCell {
  readonly #revisions: Revisions;
  #value: unknown;
  #looked: unknown;
  #look: Look | undefined;
  #isFresh = false;

  constructor(revisions: Revisions) {
    this.#revisions = revisions;
  }

  get value(): unknown {
    return this.#value;
  }

  /** The service said this, perhaps again. An object may have changed inside and still be the same. */
  hear(value: unknown): void {
    if (Object.is(value, this.#value) && typeof value !== "object" && this.#look !== undefined) return;
    this.#value = value;
    this.#isFresh = false;
  }

  look(): Look {
    if (this.#isFresh && this.#look !== undefined) return this.#look;
    this.#isFresh = true;
    const { plain, fault } = this.#written();
    const before = this.#look;
    // What is in a Blob nobody can see without waiting.
    const isOther = this.#value instanceof Blob && this.#value !== this.#looked;
    const isSame =
      before !== undefined && !isOther && (before.fault === undefined) === (fault === undefined) && sameJson(before.plain, plain);
    this.#looked = this.#value instanceof Blob ? this.#value : undefined;
    if (!isSame) this.#look = { revision: this.#revisions.next(), plain, ...(fault === undefined ? {} : { fault }) };
    return this.#look ?? { revision: 0, plain };
  }

  #written(): { readonly plain: Json; readonly fault?: unknown } {
    try {
      return { plain: toPlain(this.#value) };
    } catch (fault) {
      return { plain: null, fault };
    }
  }
}
