import { type Changes, growthBy, setOwn } from "../../contract/internal.ts";
import { badTurn } from "../bad-turn.ts";
import type { Draft } from "./draft.ts";
import { frozenOf } from "./frozen-of.ts";
import { LIST } from "./list-shape.ts";
import { OBJECT } from "./object-shape.ts";
import { isObject, isPlain, opened, type Row, rowOf } from "./row.ts";
import { PART, readFrom, toPrimitive } from "./list-methods.ts";
import type { Shape } from "./shape.ts";
import type { Splice } from "./splice.ts";

/** Of so many keys that were written, or whose parts changed, a part tells the names; where there are more all is looked at. */
const MOST_KEYS = 8;
const NONE: readonly string[] = [];

/** No object inherits one: where there is such a value, it is the object's own. */
const isScalar = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "string" || typeof value === "boolean" || value === null;

/** Of the state before; frozen by the author, or in what is: it need not be JSON, nor frozen inside; or the author's own, written in place. */
export type Origin = "state" | "given" | "own";

/**
 * One object or list of a state while it may be written: the handler of the proxy the author holds. It copies before
 * its first write, drafts a part when it is read, and what is not read stays the object it was. One class for both, of
 * few fields: each turn makes some.
 */
export class Part implements ProxyHandler<object>, Changes {
  readonly before: Row;
  readonly proxy: object;
  /** The one drafted before it in its turn: a list of them all would be one more object for each turn. */
  readonly earlier: Part | undefined;
  readonly #draft: Draft;
  readonly #shape: Shape;
  readonly #origin: Origin;
  #now: Row;
  #phase: "open" | "settling" | "settled" = "open";
  /** What was written here, and not in a part; undefined where that may be anything. */
  #keys: readonly string[] | undefined;
  /** In bytes at most, undefined where that is not known. */
  #growth: number | undefined = 0;
  // Most turns go one way down: the first part read has a place of its own, a Map is for the others.
  #firstKey: string | undefined;
  #first: Part | undefined;
  #others: Map<string, Part> | undefined;

  constructor(before: Row, draft: Draft, origin: Origin) {
    const shape = Array.isArray(before) ? LIST : OBJECT;
    this.before = before;
    this.#now = before;
    this.#draft = draft;
    this.#shape = shape;
    this.#origin = origin;
    this.#keys = origin === "state" ? NONE : undefined;
    this.proxy = new Proxy(shape.target, this);
    this.earlier = draft.last;
    draft.last = this;
  }

  // ── what the author does ──────────────────────────────────────────────────

  get(_target: object, key: PropertyKey): unknown {
    this.#draft.alive();
    const value = this.#now[key];
    if (typeof value === "function") return this.#method(key, value);
    if (typeof value !== "object" || value === null || typeof key !== "string")
      return value === undefined && typeof key === "symbol" ? this.#absent(key) : value;
    if (key === this.#firstKey && this.#first?.before === value) return this.#first.proxy;
    return this.#drafted(key, value);
  }

  set(_target: object, key: PropertyKey, given: unknown): boolean {
    this.#draft.alive();
    const value = frozenOf(given);
    const now = this.#now;
    const was = now[key];
    const known = isScalar(was) || Object.hasOwn(now, key);
    if (isObject(value) && Object.isFrozen(value)) {
      this.#draft.tookFrozen = true;
      this.#forget(key, value);
    }
    if (known && Object.is(was, value)) return true;
    if (!known) this.#shape.mayHold(key);
    const copy = this.#open();
    if (known && typeof key === "string" && !this.#shape.reshapes(key)) this.#note(key);
    else this.#keys = undefined;
    setOwn(copy, key, value);
    return true;
  }

  deleteProperty(_target: object, key: PropertyKey): boolean {
    this.#draft.alive();
    if (!Object.hasOwn(this.#now, key)) return true;
    this.#keys = undefined;
    if (Reflect.deleteProperty(this.#open(), key)) return true;
    if (key !== "length") return false;
    throw badTurn(`A list always has its "length": set it to 0 to empty the list.`);
  }

  has(_target: object, key: PropertyKey): boolean {
    this.#draft.alive();
    return Object.hasOwn(this.#now, key) || (typeof key === "symbol" ? key in this.#now : this.#shape.methods?.has(key) === true);
  }

  ownKeys(): (string | symbol)[] {
    this.#draft.alive();
    return Reflect.ownKeys(this.#now);
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.#draft.alive();
    const found = Reflect.getOwnPropertyDescriptor(this.#now, key);
    if (found === undefined) return undefined;
    // A list's length is the one property of the target, and must be told as it is there.
    const isOfTarget = Object.hasOwn(target, key);
    return { value: this.get(target, key), writable: true, enumerable: !isOfTarget, configurable: !isOfTarget };
  }

  defineProperty(target: object, key: PropertyKey, given: PropertyDescriptor): boolean {
    this.#draft.alive();
    const known = Object.hasOwn(this.#now, key);
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
    // The only object that a plain object or a list inherits under a text.
    if (key === "__proto__" && !Object.hasOwn(this.#now, key)) return undefined;
    const isKept = this.#now === this.before || value === this.before[key];
    // The author's own object may be reached by its own name too, so it is drafted without a copy.
    if (this.#origin === "own") return this.#ownDrafted(key, value);
    if (!isKept && !this.#draft.isFrozenValue(value)) return this.#draft.owned(value);
    const isGiven = this.#origin === "given" || !isKept;
    // What the state holds is JSON; a frozen value may be anything, and may hold drafts.
    if (isGiven && (!isPlain(value) || this.#draft.part(value) !== undefined)) return value;
    const part = new Part(rowOf(value), this.#draft, isGiven ? "given" : "state");
    if (this.#first === undefined || this.#firstKey === key) {
      this.#firstKey = key;
      this.#first = part;
    } else (this.#others ??= new Map()).set(key, part);
    return part.proxy;
  }

  /** Of the author's own object: what is frozen there is written in a copy, which takes its place. */
  #ownDrafted(key: string, held: object): object {
    const value = frozenOf(held);
    if (!Object.isFrozen(value) || Object.isFrozen(this.#now) || !isPlain(value)) return this.#draft.owned(value);
    const { proxy } = new Part(rowOf(value), this.#draft, "given");
    setOwn(this.#now, key, proxy);
    return proxy;
  }

  /** A frozen value that is put is what it is, and not what was made of it where it was before. */
  #forget(key: PropertyKey, value: object): void {
    if (typeof key !== "string") return;
    if (this.#firstKey === key && this.#first?.before === value) this.#first = undefined;
    if (this.#others?.get(key)?.before === value) this.#others.delete(key);
  }

  /** A function or a symbol's value: what is inherited under a text is none of the state, except the methods of a list. */
  #method(key: PropertyKey, value: unknown): unknown {
    if (typeof key === "symbol" || Object.hasOwn(this.#now, key)) return value;
    readFrom(this);
    return this.#shape.methods?.get(key);
  }

  #absent(key: symbol): unknown {
    return key === PART ? this : key === Symbol.toPrimitive ? toPrimitive : undefined;
  }

  isDraft(value: object): boolean {
    return this.#draft.part(value) !== undefined;
  }

  get canSplice(): boolean {
    return this.#origin === "state";
  }

  items(): Row {
    this.#draft.alive();
    return this.#now;
  }

  splice({ from, count, items }: Splice): readonly unknown[] {
    this.#draft.alive();
    if (count === 0 && items.length === 0) return [];
    const gone = Array.from({ length: count }, (_, at) => this.get(this.proxy, String(from + at)));
    const now = this.#open();
    for (const [key, part] of this.#parts()) if (now[key] === part.before) now[key] = part.proxy;
    this.#firstKey = undefined;
    this.#first = undefined;
    this.#others = undefined;
    // What the state has elsewhere than before is as if the author had put it there, frozen as it is.
    this.#draft.tookFrozen = true;
    this.#keys = undefined;
    Reflect.apply(Array.prototype.splice, now, [from, count, ...items.map((item) => frozenOf(item))]);
    return gone;
  }

  *#parts(): Generator<readonly [string, Part]> {
    if (this.#first !== undefined && this.#firstKey !== undefined) yield [this.#firstKey, this.#first];
    yield* this.#others ?? [];
  }

  #open(): Row {
    if (this.#now !== this.before || this.#origin === "own") return this.#now;
    this.#now = this.#origin === "given" ? opened(this.before) : this.#shape.copy(this.before);
    return this.#now;
  }

  #note(key: string): void {
    const keys = this.#keys;
    if (keys === NONE) this.#keys = [key];
    else if (keys !== undefined && !keys.includes(key)) this.#keys = keys.length < MOST_KEYS ? [...keys, key] : undefined;
  }

  // ── what becomes of it ────────────────────────────────────────────────────

  /** Frozen, with all that is in it; `before` where nothing differs. */
  settle(): Row {
    if (this.#phase === "settled") return this.#now;
    // It holds itself: what it becomes is not what it was, and the commit refuses it.
    if (this.#phase === "settling") return this.#open();
    this.#phase = "settling";
    if (this.#origin !== "own" && this.#differs()) Object.freeze(this.#now);
    else this.#now = this.#origin === "state" ? this.before : this.#draft.settled(this.before);
    this.#phase = "settled";
    return this.#now;
  }

  #differs(): boolean {
    const keys = this.#keys;
    if (keys !== undefined) return this.#settleKeys(keys);
    // A given value, which may hold drafts anywhere: all of it is looked at, once something in it differs.
    if (this.#now === this.before && !this.#isPartChanged()) return false;
    return this.#settleAll(this.#open());
  }

  get after(): Row {
    return this.#now;
  }

  get growth(): number | undefined {
    return this.#growth;
  }

  get keys(): readonly string[] | undefined {
    const written = this.#keys;
    if (written === undefined) return undefined;
    const keys = [...written];
    for (const key of [this.#firstKey, ...(this.#others?.keys() ?? NONE)]) {
      if (key === undefined || this.#now[key] === this.before[key] || keys.includes(key)) continue;
      if (keys.length === MOST_KEYS) return undefined;
      keys.push(key);
    }
    return keys;
  }

  at(key: string, was: unknown, now: unknown): Changes | undefined {
    const part = this.#partAt(key);
    return part !== undefined && part.before === was && part.#now === now ? part : undefined;
  }

  #partAt(key: string): Part | undefined {
    return this.#firstKey === key ? this.#first : this.#others?.get(key);
  }

  #isPartChanged(): boolean {
    const parts = [this.#first, ...(this.#others?.values() ?? [])];
    return parts.some((part) => part !== undefined && part.settle() !== part.before);
  }

  /** Says whether anything differs. */
  #settleAll(copy: Row): boolean {
    const { before } = this;
    this.#growth = undefined;
    for (const key of Object.keys(copy)) this.#settleAt(copy, key);
    if (!this.#shape.areAlike(before, copy)) return true;
    // Those of before: a list's deleted item has left no key.
    for (const key of Object.keys(before)) if (copy[key] !== before[key]) return true;
    return false;
  }

  /** The same, where it is known what was written: all else is what it was, or a part of it. */
  #settleKeys(written: readonly string[]): boolean {
    let differs = false;
    for (let at = 0; at < written.length; at += 1) if (this.#settleWritten(this.#now, written[at] ?? "")) differs = true;
    if (this.#first !== undefined && this.#settlePart(this.#firstKey, this.#first, written)) differs = true;
    if (this.#others !== undefined && this.#settleOthers(this.#others, written)) differs = true;
    return differs;
  }

  #settleWritten(copy: Row, key: string): boolean {
    const settled = this.#settleAt(copy, key);
    if (settled === this.before[key]) return false;
    this.#grow(growthBy(settled));
    return true;
  }

  #settleOthers(others: ReadonlyMap<string, Part>, written: readonly string[]): boolean {
    let differs = false;
    for (const [key, part] of others) if (this.#settlePart(key, part, written)) differs = true;
    return differs;
  }

  /** Of a key that was not written. */
  #settlePart(key: string | undefined, part: Part, written: readonly string[]): boolean {
    if (key === undefined || (written !== NONE && written.includes(key))) return false;
    const settled = part.settle();
    if (settled === part.before) return false;
    setOwn(this.#open(), key, settled);
    this.#grow(part.#growth);
    return true;
  }

  #grow(by: number | undefined): void {
    this.#growth = this.#growth === undefined || by === undefined ? undefined : this.#growth + by;
  }

  #settleAt(copy: Row, key: string): unknown {
    const value = copy[key];
    if (isObject(value)) {
      const settled = this.#outcome(key, value);
      if (settled !== value) setOwn(copy, key, settled);
      return settled;
    }
    if (value === 0 && Object.is(value, -0)) copy[key] = 0;
    return value;
  }

  #outcome(key: string, value: object): object {
    const part = this.#partAt(key);
    if (part?.before === value) return part.settle();
    return value === this.before[key] && this.#origin === "state" ? value : this.#draft.settled(value);
  }
}
