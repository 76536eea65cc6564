// Owns: a hash table of things by their ids, faster than `Map` for ids that are missing.

/** Slots probed at most. Chance needs fewer while half of them are free; made-up ids with one hash get no further. */
const LONGEST = 16;
const FIRST = 64;
/** A deleted slot: probing goes on behind it. */
const DELETED = -1;

/**
 * To learn that an id is missing, a `Map` reads the text of each id in the bucket: among very many, each is a cache miss, and all of
 * them were a quarter of an actor's start. Here hashes that lie side by side are compared. Clients choose ids, so what finds no slot
 * near its own overflows into a `Map`.
 */
export class IdTable<T extends { readonly id: string }> {
  /** Pairs: a hash, and its thing's index in `#all` plus 1. */
  #slots = new Int32Array(2 * FIRST);
  /** Slots that are not free, deleted ones included. */
  #used = 0;
  #all: (T | undefined)[] = [];
  #vacant: number[] = [];
  readonly #overflow = new Map<string, T>();
  #lastId = "";
  #lastHash = hashOf("");

  get size(): number {
    return this.#all.length - this.#vacant.length + this.#overflow.size;
  }

  /** How many indexes `at` may be asked for. */
  get places(): number {
    return this.#all.length;
  }

  /** The thing at an index, from 0. What has overflowed is not found so. */
  at(place: number): T | undefined {
    return this.#all[place];
  }

  get(id: string): T | undefined {
    const slots = this.#slots;
    const hash = this.#hash(id);
    for (let step = 0; step < LONGEST; step += 1) {
      const at = ((hash + step) << 1) & (slots.length - 1);
      const place = slots[at + 1] ?? 0;
      if (place === 0) return undefined;
      if (place === DELETED || slots[at] !== hash) continue;
      const found = this.#all[place - 1];
      if (found?.id === id) return found;
    }
    return this.#overflow.get(id);
  }

  /** Only if there is none with its id. */
  add(thing: T): void {
    if (4 * (this.#used + 1) > this.#slots.length) this.#grow();
    this.#put(thing);
  }

  delete(thing: T): void {
    const hash = this.#hash(thing.id);
    for (let step = 0; step < LONGEST; step += 1) {
      const at = ((hash + step) << 1) & (this.#slots.length - 1);
      const place = this.#slots[at + 1] ?? 0;
      if (place === 0) return;
      if (place === DELETED || this.#all[place - 1] !== thing) continue;
      this.#slots[at + 1] = DELETED;
      this.#all[place - 1] = undefined;
      this.#vacant.push(place - 1);
      if (this.#slots.length > 2 * FIRST && this.size * 32 < this.#slots.length) this.#shrink();
      return;
    }
    if (this.#overflow.get(thing.id) === thing) this.#overflow.delete(thing.id);
  }

  *values(): IterableIterator<T> {
    for (const thing of this.#all) if (thing !== undefined) yield thing;
    yield* this.#overflow.values();
  }

  #put(thing: T): void {
    const hash = this.#hash(thing.id);
    const at = this.#free(hash);
    if (at === undefined) {
      this.#overflow.set(thing.id, thing);
      return;
    }
    const place = this.#vacant.pop() ?? this.#all.length;
    this.#all[place] = thing;
    this.#fill(at, hash, place + 1);
  }

  #free(hash: number): number | undefined {
    for (let step = 0; step < LONGEST; step += 1) {
      const at = ((hash + step) << 1) & (this.#slots.length - 1);
      if ((this.#slots[at + 1] ?? 0) <= 0) return at;
    }
    return undefined;
  }

  #fill(at: number, hash: number, place: number): void {
    if (this.#slots[at + 1] === 0) this.#used += 1;
    this.#slots[at] = hash;
    this.#slots[at + 1] = place;
  }

  /** Moves hashes, and reads no text again. If most slots are deleted ones, only those are freed. */
  #grow(): void {
    const old = this.#slots;
    const overflow = [...this.#overflow.values()];
    this.#slots = new Int32Array(8 * this.size > old.length ? 2 * old.length : old.length);
    this.#used = 0;
    this.#overflow.clear();
    for (let from = 0; from < old.length; from += 2) {
      const [hash = 0, place = 0] = [old[from], old[from + 1]];
      if (place <= 0) continue;
      const at = this.#free(hash);
      if (at !== undefined) this.#fill(at, hash, place);
      else this.#toOverflow(place);
    }
    for (const thing of overflow) this.#put(thing);
  }

  #toOverflow(place: number): void {
    const thing = this.#all[place - 1];
    if (thing === undefined) return;
    this.#all[place - 1] = undefined;
    this.#vacant.push(place - 1);
    this.#overflow.set(thing.id, thing);
  }

  #shrink(): void {
    const left = [...this.values()];
    this.#slots = new Int32Array(2 * FIRST);
    this.#used = 0;
    this.#all = [];
    this.#vacant = [];
    this.#overflow.clear();
    for (const thing of left) this.add(thing);
  }

  /** An id that is added was looked up just before. */
  #hash(id: string): number {
    if (id === this.#lastId) return this.#lastHash;
    this.#lastId = id;
    return (this.#lastHash = hashOf(id));
  }
}

/** FNV-1a, its bits mixed once more: few of them choose the slot. */
function hashOf(id: string): number {
  // Untyped code may ask for anything.
  if (typeof id !== "string") return 0;
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < id.length; index += 1) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}
