// Owns: a state that a turn may write to, and the record of where it was written. Does not own: array methods and copies
// (containers.ts), what a patch is made of (core/chain).
import { type Changes, DEEPEST, growthBy, setOwn } from "../contract/internal.ts";
import { badTurn } from "./author-errors.ts";
import {
  asContainer,
  type Container,
  type CopyStrategy,
  frozenOf,
  isObject,
  isPlain,
  methodOf,
  NODE,
  type Splice,
  strategyOf,
  toPrimitive,
  writableCopy,
} from "./containers.ts";

/** `base` must be deeply frozen, and JSON. */
export function openDraft(base: object): Draft {
  return new Draft(base);
}

/** A state that may be written during a turn. Dropping the draft is the rollback (C3): the base never changes. */
export class Draft {
  /** The newest node. */
  last: DraftNode | undefined;
  /** Whether a frozen value was assigned anywhere. Only then is it worth checking which. */
  tookFrozen = false;
  readonly #root: DraftNode;
  #over = false;
  #byProxy: Map<object, DraftNode> | undefined;
  /** The newest node in `#byProxy`. */
  #newestListed: DraftNode | undefined;
  #given: Map<object, Container> | undefined;
  #owned: Map<object, DraftNode> | undefined;

  constructor(base: object) {
    this.#root = new DraftNode(asContainer(base), this, "state");
  }

  get state(): object {
    return this.#root.proxy;
  }

  /** What changed, and so the next state; undefined if nothing did. Revokes the draft. */
  finish(): Changes | undefined {
    this.#over = true;
    const root = this.#root;
    return root.finalize() === root.before ? undefined : root;
  }

  /** Revokes the draft, without a next state. */
  drop(): void {
    this.#over = true;
  }

  // ── for the nodes ─────────────────────────────────────────────────────────

  throwIfOver(): void {
    if (this.#over) throw revoked();
  }

  isFrozenValue(value: object): boolean {
    return this.tookFrozen && Object.isFrozen(value);
  }

  /** Finalises a value that the author assigned: a draft becomes its result, an object of the author's own is frozen in place. */
  finalizeValue(value: object): Container {
    return this.nodeOf(value)?.finalize() ?? this.#finalizeGiven(asContainer(frozenOf(value)), 0);
  }

  /** The node whose proxy it is. */
  nodeOf(value: object): DraftNode | undefined {
    const byProxy = (this.#byProxy ??= new Map());
    for (let node = this.last; node !== undefined && node !== this.#newestListed; node = node.earlier) byProxy.set(node.proxy, node);
    this.#newestListed = this.last;
    return byProxy.get(value);
  }

  /** The draft of an object that the author assigned; the object itself if it is a draft already, or nothing a state can hold. */
  owned(value: object): object {
    const owned = (this.#owned ??= new Map<object, DraftNode>());
    const known = owned.get(value);
    if (known !== undefined) return known.proxy;
    if (!isPlain(value) || this.nodeOf(value) !== undefined) return value;
    const node = new DraftNode(asContainer(value), this, "own");
    owned.set(value, node);
    return node.proxy;
  }

  #finalizeGiven(value: Container, depth: number): Container {
    const seen = (this.#given ??= new Map());
    const known: Container | undefined = seen.get(value);
    if (known !== undefined) return known;
    seen.set(value, value);
    // Neither is JSON: the commit refuses it.
    if (depth === DEEPEST || !isPlain(value)) return value;
    const isFrozen = Object.isFrozen(value);
    let result = value;
    for (const key of Object.keys(value)) {
      const item = value[key];
      const final = isObject(item)
        ? (this.nodeOf(item)?.finalize() ?? this.#finalizeGiven(asContainer(frozenOf(item)), depth + 1))
        : item === 0
          ? 0
          : item;
      // A getter cannot be assigned to: the commit refuses it.
      if (Object.is(final, item) || Reflect.getOwnPropertyDescriptor(value, key)?.get !== undefined) continue;
      // A frozen object of the author's holds a draft, which cannot be replaced in place.
      if (isFrozen && result === value) seen.set(value, (result = writableCopy(value)));
      setOwn(result, key, final);
    }
    return Object.freeze(result);
  }
}

/** Up to this many written keys are recorded by name. If there are more, all keys are compared. */
const MOST_KEYS = 8;
const NONE: readonly string[] = [];

/** No object inherits one: where there is such a value, it is the object's own. */
const isScalar = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "string" || typeof value === "boolean" || value === null;

/**
 * - `state`: part of the state before.
 * - `given`: a frozen value that the author assigned, or a part of one. It need not be JSON, nor frozen inside.
 * - `own`: a writable object of the author's, written in place.
 */
type Origin = "state" | "given" | "own";

/**
 * The draft of one object or array: the handler of the proxy the author holds. It copies before the first write and drafts a part
 * when it is read; what is not read stays the same object. One class for objects and arrays, with few fields, since each turn makes some.
 */
class DraftNode implements ProxyHandler<object>, Changes {
  readonly before: Container;
  readonly proxy: object;
  /** The node created before this one in the same draft. A list of all nodes would be one more object per turn. */
  readonly earlier: DraftNode | undefined;
  readonly #draft: Draft;
  readonly #strategy: CopyStrategy;
  readonly #origin: Origin;
  /** `before` until the first write, then a copy; from `finalize` on the result. */
  #latest: Container;
  #phase: "open" | "finalizing" | "final" = "open";
  /** The keys written here, not in a part. Undefined: any key may have been. */
  #keys: readonly string[] | undefined;
  /** An upper bound, in bytes. Undefined: unknown. */
  #growth: number | undefined = 0;
  // Most turns read one part of each object. It needs no Map.
  #firstKey: string | undefined;
  #first: DraftNode | undefined;
  #others: Map<string, DraftNode> | undefined;

  constructor(before: Container, draft: Draft, origin: Origin) {
    const strategy = strategyOf(before);
    this.before = before;
    this.#latest = before;
    this.#draft = draft;
    this.#strategy = strategy;
    this.#origin = origin;
    this.#keys = origin === "state" ? NONE : undefined;
    this.proxy = new Proxy(strategy.target, this);
    this.earlier = draft.last;
    draft.last = this;
  }

  // ── the proxy's traps ─────────────────────────────────────────────────────

  get(_target: object, key: PropertyKey): unknown {
    this.#draft.throwIfOver();
    const value = this.#latest[key];
    if (typeof value === "function") return this.#inherited(key, value);
    if (typeof value !== "object" || value === null || typeof key !== "string")
      return value === undefined && typeof key === "symbol" ? this.#ofSymbol(key) : value;
    if (key === this.#firstKey && this.#first?.before === value) return this.#first.proxy;
    return this.#drafted(key, value);
  }

  set(_target: object, key: PropertyKey, given: unknown): boolean {
    this.#draft.throwIfOver();
    const value = frozenOf(given);
    const latest = this.#latest;
    const was = latest[key];
    const exists = isScalar(was) || Object.hasOwn(latest, key);
    if (isObject(value) && Object.isFrozen(value)) {
      this.#draft.tookFrozen = true;
      this.#forget(key, value);
    }
    if (exists && Object.is(was, value)) return true;
    if (!exists) this.#strategy.checkKey(key);
    const copy = this.#writable();
    if (exists && typeof key === "string" && !this.#strategy.changesKeys(key)) this.#recordKey(key);
    else this.#keys = undefined;
    setOwn(copy, key, value);
    return true;
  }

  deleteProperty(_target: object, key: PropertyKey): boolean {
    this.#draft.throwIfOver();
    if (!Object.hasOwn(this.#latest, key)) return true;
    this.#keys = undefined;
    if (Reflect.deleteProperty(this.#writable(), key)) return true;
    if (key !== "length") return false;
    throw badTurn(`A list always has its "length": set it to 0 to empty the list.`);
  }

  has(_target: object, key: PropertyKey): boolean {
    this.#draft.throwIfOver();
    if (Object.hasOwn(this.#latest, key)) return true;
    return typeof key === "symbol" ? key in this.#latest : this.#strategy.methods?.has(key) === true;
  }

  ownKeys(): (string | symbol)[] {
    this.#draft.throwIfOver();
    return Reflect.ownKeys(this.#latest);
  }

  getOwnPropertyDescriptor(target: object, key: PropertyKey): PropertyDescriptor | undefined {
    this.#draft.throwIfOver();
    const found = Reflect.getOwnPropertyDescriptor(this.#latest, key);
    if (found === undefined) return undefined;
    // An array's length is the target's only property, and must be described as it is there.
    const isOfTarget = Object.hasOwn(target, key);
    return { value: this.get(target, key), writable: true, enumerable: !isOfTarget, configurable: !isOfTarget };
  }

  defineProperty(target: object, key: PropertyKey, given: PropertyDescriptor): boolean {
    this.#draft.throwIfOver();
    const known = Object.hasOwn(this.#latest, key);
    const { value, enumerable = known, writable = known, configurable = known } = given;
    if (!("value" in given) || !enumerable || !writable || !configurable)
      throw badTurn(`A state holds values only: assign ${JSON.stringify(String(key))}, instead of defining how it is got or set.`);
    return this.set(target, key, value);
  }

  preventExtensions(): boolean {
    throw badTurn("A draft cannot be frozen: what a turn leaves is, once it has ended.");
  }

  setPrototypeOf(): boolean {
    throw badTurn("A state holds plain objects and lists: a prototype is not stored.");
  }

  #drafted(key: string, value: object): unknown {
    const known = this.#others?.get(key);
    if (known?.before === value) return known.proxy;
    // The only object that a plain object or an array inherits under a text.
    if (key === "__proto__" && !Object.hasOwn(this.#latest, key)) return undefined;
    const isUnchanged = this.#latest === this.before || value === this.before[key];
    // An object of the author's own may also be reached by the author's reference, so it is drafted without a copy.
    if (this.#origin === "own") return this.#draftedInOwn(key, value);
    if (!isUnchanged && !this.#draft.isFrozenValue(value)) return this.#draft.owned(value);
    const isGiven = this.#origin === "given" || !isUnchanged;
    // What the state holds is JSON. A frozen value of the author's may be anything, and may hold drafts.
    if (isGiven && (!isPlain(value) || this.#draft.nodeOf(value) !== undefined)) return value;
    const node = new DraftNode(asContainer(value), this.#draft, isGiven ? "given" : "state");
    if (this.#first === undefined || this.#firstKey === key) {
      this.#firstKey = key;
      this.#first = node;
    } else (this.#others ??= new Map()).set(key, node);
    return node.proxy;
  }

  /** A part of the author's own object. A frozen one is replaced there by the draft of a copy. */
  #draftedInOwn(key: string, held: object): object {
    const value = frozenOf(held);
    if (!Object.isFrozen(value) || Object.isFrozen(this.#latest) || !isPlain(value)) return this.#draft.owned(value);
    const { proxy } = new DraftNode(asContainer(value), this.#draft, "given");
    setOwn(this.#latest, key, proxy);
    return proxy;
  }

  /** If a frozen object is assigned again, the draft that was made of it at this key is discarded. */
  #forget(key: PropertyKey, value: object): void {
    if (typeof key !== "string") return;
    if (this.#firstKey === key && this.#first?.before === value) this.#first = undefined;
    if (this.#others?.get(key)?.before === value) this.#others.delete(key);
  }

  /** A function, or what a symbol leads to. Nothing inherited under a text is part of the state, except the methods of an array. */
  #inherited(key: PropertyKey, value: unknown): unknown {
    return typeof key === "symbol" || Object.hasOwn(this.#latest, key) ? value : methodOf(this, this.#strategy, key);
  }

  #ofSymbol(key: symbol): unknown {
    return key === NODE ? this : key === Symbol.toPrimitive ? toPrimitive : undefined;
  }

  // ── for the methods of arrays ─────────────────────────────────────────────

  isDraft(value: object): boolean {
    return this.#draft.nodeOf(value) !== undefined;
  }

  get canSplice(): boolean {
    return this.#origin === "state";
  }

  items(): Container {
    this.#draft.throwIfOver();
    return this.#latest;
  }

  splice({ from, count, items }: Splice): readonly unknown[] {
    this.#draft.throwIfOver();
    if (count === 0 && items.length === 0) return [];
    const removed = Array.from({ length: count }, (_, at) => this.get(this.proxy, String(from + at)));
    const latest = this.#writable();
    // The drafts of items become items themselves, since their keys change.
    for (const [key, node] of this.#parts()) if (latest[key] === node.before) latest[key] = node.proxy;
    this.#firstKey = undefined;
    this.#first = undefined;
    this.#others = undefined;
    // From here on an item that has moved counts as a frozen value that the author assigned.
    this.#draft.tookFrozen = true;
    this.#keys = undefined;
    Reflect.apply(Array.prototype.splice, latest, [from, count, ...items.map((item) => frozenOf(item))]);
    return removed;
  }

  *#parts(): Generator<readonly [string, DraftNode]> {
    if (this.#first !== undefined && this.#firstKey !== undefined) yield [this.#firstKey, this.#first];
    yield* this.#others ?? [];
  }

  #writable(): Container {
    if (this.#latest !== this.before || this.#origin === "own") return this.#latest;
    this.#latest = this.#origin === "given" ? writableCopy(this.before) : this.#strategy.copy(this.before);
    return this.#latest;
  }

  #recordKey(key: string): void {
    const keys = this.#keys;
    if (keys === NONE) this.#keys = [key];
    else if (keys !== undefined && !keys.includes(key)) this.#keys = keys.length < MOST_KEYS ? [...keys, key] : undefined;
  }

  // ── the result ────────────────────────────────────────────────────────────

  /** Deeply frozen; `before` if nothing differs. */
  finalize(): Container {
    if (this.#phase === "final") return this.#latest;
    // It contains itself. The result differs from `before`, and the commit refuses it.
    if (this.#phase === "finalizing") return this.#writable();
    this.#phase = "finalizing";
    if (this.#origin !== "own" && this.#differs()) Object.freeze(this.#latest);
    else this.#latest = this.#origin === "state" ? this.before : this.#draft.finalizeValue(this.before);
    this.#phase = "final";
    return this.#latest;
  }

  get after(): Container {
    return this.#latest;
  }

  get growth(): number | undefined {
    return this.#growth;
  }

  get keys(): readonly string[] | undefined {
    const written = this.#keys;
    if (written === undefined) return undefined;
    const keys = [...written];
    for (const key of [this.#firstKey, ...(this.#others?.keys() ?? NONE)]) {
      if (key === undefined || this.#latest[key] === this.before[key] || keys.includes(key)) continue;
      if (keys.length === MOST_KEYS) return undefined;
      keys.push(key);
    }
    return keys;
  }

  at(key: string, before: unknown, after: unknown): Changes | undefined {
    const node = this.#partAt(key);
    return node !== undefined && node.before === before && node.#latest === after ? node : undefined;
  }

  #partAt(key: string): DraftNode | undefined {
    return this.#firstKey === key ? this.#first : this.#others?.get(key);
  }

  #differs(): boolean {
    const keys = this.#keys;
    if (keys !== undefined) return this.#finalizeKeys(keys);
    // A frozen value of the author's may hold drafts anywhere: once something in it differs, all of it is finalised.
    if (this.#latest === this.before && !this.#isPartChanged()) return false;
    return this.#finalizeAll(this.#writable());
  }

  #isPartChanged(): boolean {
    const parts = [this.#first, ...(this.#others?.values() ?? [])];
    return parts.some((node) => node !== undefined && node.finalize() !== node.before);
  }

  /** Returns whether anything differs. */
  #finalizeAll(copy: Container): boolean {
    const { before } = this;
    this.#growth = undefined;
    for (const key of Object.keys(copy)) this.#finalizeAt(copy, key);
    if (!this.#strategy.haveSameKeys(before, copy)) return true;
    // The keys of before: a deleted item of an array has left no key.
    for (const key of Object.keys(before)) if (copy[key] !== before[key]) return true;
    return false;
  }

  /** The same if the written keys are known: every other value is unchanged, or a part that was drafted. */
  #finalizeKeys(written: readonly string[]): boolean {
    let differs = false;
    for (let at = 0; at < written.length; at += 1) if (this.#finalizeWritten(this.#latest, written[at] ?? "")) differs = true;
    if (this.#first !== undefined && this.#finalizePart(this.#firstKey, this.#first, written)) differs = true;
    if (this.#others !== undefined && this.#finalizeOthers(this.#others, written)) differs = true;
    return differs;
  }

  #finalizeWritten(copy: Container, key: string): boolean {
    const final = this.#finalizeAt(copy, key);
    if (final === this.before[key]) return false;
    this.#grow(growthBy(final));
    return true;
  }

  #finalizeOthers(others: ReadonlyMap<string, DraftNode>, written: readonly string[]): boolean {
    let differs = false;
    for (const [key, node] of others) if (this.#finalizePart(key, node, written)) differs = true;
    return differs;
  }

  /** The part at a key that was not written itself. */
  #finalizePart(key: string | undefined, node: DraftNode, written: readonly string[]): boolean {
    if (key === undefined || (written !== NONE && written.includes(key))) return false;
    const final = node.finalize();
    if (final === node.before) return false;
    setOwn(this.#writable(), key, final);
    this.#grow(node.#growth);
    return true;
  }

  #grow(by: number | undefined): void {
    this.#growth = this.#growth === undefined || by === undefined ? undefined : this.#growth + by;
  }

  #finalizeAt(copy: Container, key: string): unknown {
    const value = copy[key];
    if (isObject(value)) {
      const final = this.#finalOf(key, value);
      if (final !== value) setOwn(copy, key, final);
      return final;
    }
    if (value === 0 && Object.is(value, -0)) copy[key] = 0;
    return value;
  }

  #finalOf(key: string, value: object): object {
    const node = this.#partAt(key);
    if (node?.before === value) return node.finalize();
    return value === this.before[key] && this.#origin === "state" ? value : this.#draft.finalizeValue(value);
  }
}

const OWN_FRAME = /\/actor\/(?:draft|containers)\.[jt]s:/;

/** Thrown where a draft is used after its turn. Its frames begin in the author's code, as those of a revoked proxy would. */
function revoked(): TypeError {
  const error = new TypeError(
    "This draft was revoked when its turn ended: read the value again, from the `ctx.state` of the turn that runs.",
  );
  const frames = (error.stack ?? "").split("\n").filter((line) => !OWN_FRAME.test(line));
  error.stack = frames.join("\n");
  return error;
}
