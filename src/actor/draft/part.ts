import type { Written } from "../../contract/internal.ts";
import { badTurn } from "../bad-turn.ts";
import { isObject, isPlain, isRow, place, type Row } from "./row.ts";
import type { Scope } from "./scope.ts";

/** Of so many written keys a part keeps the names; where more were written it looks at all. */
const MOST_KEYS = 8;

/**
 * One object or list of a state while it may be written: the handler of the proxy the author holds. It copies before
 * its first write, drafts a part when it is read, and what is not read stays the object it was.
 */
export abstract class Part implements ProxyHandler<object>, Written {
  readonly before: Row;
  after: object;
  readonly proxy: object;
  protected now: Row;
  readonly #scope: Scope;
  readonly #above: Part | undefined;
  /** The author's own frozen value, or in one: what such a value holds need not be frozen, nor JSON. */
  readonly #isGiven: boolean;
  /** The one drafted before it in its turn: a list of them all would be one more object for each turn. */
  readonly earlier: Part | undefined;
  /** Written, or a part of it is. */
  #changed = false;
  #settled = false;
  #written: string[] | undefined;
  #all: boolean;
  // Most turns go one way down: the first part read has a place of its own, a Map is for the others.
  #firstKey: string | undefined;
  #first: Part | undefined;
  #others: Map<string, Part> | undefined;

  /** `target` answers for what it is to `Array.isArray` and for its prototype, never for what it holds: all drafts share two. */
  constructor(before: object, target: object, scope: Scope, above: Part | undefined, isGiven: boolean) {
    if (!isRow(before)) throw new TypeError("No object.");
    this.before = before;
    this.after = before;
    this.now = before;
    this.#scope = scope;
    this.#above = above;
    this.#isGiven = isGiven;
    this.#all = isGiven;
    this.proxy = new Proxy(target, this);
    this.earlier = scope.last;
    scope.last = this;
  }

  /** Of `before`, open. */
  protected abstract copy(): Row;
  /** Throws where such a value has no such key. */
  protected abstract mayHold(key: PropertyKey): void;
  /** Whether a write there takes or gives keys. */
  protected abstract reshapes(key: PropertyKey): boolean;
  /** Whether both have the same keys in the same order. */
  protected abstract sameShape(): boolean;

  // ── what the author does ──────────────────────────────────────────────────

  get(_target: object, key: PropertyKey): unknown {
    this.#scope.alive();
    const value = this.now[key];
    if (typeof value !== "object" || value === null || typeof key !== "string") return value;
    if (key === this.#firstKey && this.#first?.before === value) return this.#first.proxy;
    return this.#drafted(key, value);
  }

  set(_target: object, key: PropertyKey, value: unknown): boolean {
    this.#scope.alive();
    const { now } = this;
    const known = Object.hasOwn(now, key);
    if (isObject(value) && Object.isFrozen(value)) {
      this.#scope.tookFrozen = true;
      this.#forget(key, value);
    }
    if (known && Object.is(now[key], value)) return true;
    if (!known) this.mayHold(key);
    const copy = this.#open();
    if (known && typeof key === "string" && !this.reshapes(key)) this.#note(key);
    else this.#all = true;
    place(copy, key, value);
    return true;
  }

  deleteProperty(_target: object, key: PropertyKey): boolean {
    this.#scope.alive();
    if (!Object.hasOwn(this.now, key)) return true;
    this.#all = true;
    if (Reflect.deleteProperty(this.#open(), key)) return true;
    throw badTurn(`A list always has its ${JSON.stringify(String(key))}: set it to 0 to empty the list.`);
  }

  has(_target: object, key: PropertyKey): boolean {
    this.#scope.alive();
    return key in this.now;
  }

  ownKeys(): (string | symbol)[] {
    this.#scope.alive();
    return Reflect.ownKeys(this.now);
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.#scope.alive();
    const found = Reflect.getOwnPropertyDescriptor(this.now, key);
    if (found === undefined) return undefined;
    // A list's length is the one property of the target, and must be told as it is there.
    const isOfTarget = Object.hasOwn(target, key);
    return { value: this.get(target, key), writable: true, enumerable: !isOfTarget, configurable: !isOfTarget };
  }

  defineProperty(target: object, key: PropertyKey, given: PropertyDescriptor): boolean {
    this.#scope.alive();
    const known = Object.hasOwn(this.now, key);
    const { value, enumerable = known, writable = known, configurable = known } = given;
    if (!("value" in given) || !enumerable || !writable || !configurable)
      throw badTurn(`A state holds values only: assign ${JSON.stringify(String(key))}, instead of defining how it is got or set.`);
    return this.set(target, key, value);
  }

  preventExtensions(): boolean {
    throw badTurn("A draft cannot be frozen: what a turn leaves is, once it has ended.");
  }

  setPrototypeOf(): boolean {
    throw badTurn("A state holds plain objects and lists: a prototype is not kept.");
  }

  #drafted(key: string, value: object): unknown {
    const known = this.#others?.get(key);
    if (known?.before === value) return known.proxy;
    // What the author put there stays what it is, unless it is frozen, which he cannot write to otherwise.
    const isKept = value === this.before[key];
    const isOwn = isKept ? Object.hasOwn(this.now, key) : this.#scope.isFrozenValue(value);
    // A frozen value may hold drafts.
    if (!isOwn || !isPlain(value) || (this.#isGiven && this.#scope.part(value) !== undefined)) return value;
    const part = this.#scope.draft(value, this, this.#isGiven || !isKept);
    if (this.#first === undefined || this.#firstKey === key) {
      this.#firstKey = key;
      this.#first = part;
    } else (this.#others ??= new Map()).set(key, part);
    return part.proxy;
  }

  /** A frozen value that is put is what it is, and not what was made of it where it was before. */
  #forget(key: PropertyKey, value: object): void {
    if (typeof key !== "string") return;
    if (this.#firstKey === key && this.#first?.before === value) this.#first = undefined;
    if (this.#others?.get(key)?.before === value) this.#others.delete(key);
  }

  #open(): Row {
    if (this.now === this.before) {
      this.now = this.copy();
      this.#mark();
    }
    return this.now;
  }

  #mark(): void {
    if (this.#changed) return;
    this.#changed = true;
    if (this.#above !== undefined) this.#above.#mark();
  }

  #note(key: string): void {
    const written = this.#written;
    // Not a list that grows from nothing: that one has room for seventeen.
    if (written === undefined) this.#written = [key];
    else if (!written.includes(key)) {
      if (written.length === MOST_KEYS) this.#all = true;
      else written.push(key);
    }
  }

  // ── what becomes of it ────────────────────────────────────────────────────

  /** Frozen, with all that is in it; `before` where nothing differs. */
  settle(): object {
    if (!this.#changed) return this.#unchanged();
    // Also while it is being settled: then it holds itself, which the commit refuses.
    if (this.#settled) return this.after;
    this.#settled = true;
    const copy = this.#open();
    this.after = copy;
    if (this.#all) for (const key of Object.keys(copy)) this.#settleAt(copy, key);
    else {
      for (const key of this.#written ?? NONE) this.#settleAt(copy, key);
      if (this.#firstKey !== undefined) this.#settlePart(copy, this.#firstKey, this.#first);
      if (this.#others !== undefined) for (const [key, part] of this.#others) this.#settlePart(copy, key, part);
    }
    if (this.#differs(copy)) Object.freeze(copy);
    else this.after = this.#unchanged();
    return this.after;
  }

  #unchanged(): object {
    return this.#isGiven ? this.#scope.settled(this.before) : this.before;
  }

  get keys(): readonly string[] | undefined {
    return this.#all ? undefined : (this.#written ?? NONE);
  }

  at(key: string): Written | undefined {
    const part = this.#partAt(key);
    if (part === undefined || part.before !== this.before[key]) return undefined;
    return part.after === this.now[key] ? part : undefined;
  }

  #partAt(key: string): Part | undefined {
    return this.#firstKey === key ? this.#first : this.#others?.get(key);
  }

  #settleAt(copy: Row, key: string): void {
    const value = copy[key];
    if (isObject(value)) {
      const settled = this.#outcome(key, value);
      if (settled !== value) place(copy, key, settled);
    } else if (Object.is(value, -0)) copy[key] = 0;
  }

  #outcome(key: string, value: object): object {
    const part = this.#partAt(key);
    if (part?.before === value) return part.settle();
    return value === this.before[key] && !this.#isGiven ? value : this.#scope.settled(value);
  }

  /** Of a key that was not written. */
  #settlePart(copy: Row, key: string, part: Part | undefined): void {
    if (part === undefined || !part.#changed || copy[key] !== part.before || this.#written?.includes(key) === true) return;
    const settled = part.settle();
    if (settled === part.before) return;
    place(copy, key, settled);
    if (!this.#all) this.#note(key);
  }

  #differs(copy: Row): boolean {
    const { before } = this;
    if (this.#all) {
      if (!this.sameShape()) return true;
      // Those of before: a list's deleted item has left no key.
      for (const key of Object.keys(before)) if (copy[key] !== before[key]) return true;
    } else for (const key of this.#written ?? NONE) if (copy[key] !== before[key]) return true;
    return false;
  }
}

const NONE: readonly string[] = [];
