// Owns: a hash table of items by id that finds missing ids faster than `Map`.

/** The most slots probed. Random hashes need fewer while half of the slots are free; ids made to collide get no more. */
const LONGEST = 16;
const FIRST = 64;
/** A deleted slot: probing continues after it. */
const DELETED = -1;

/**
 * To find that an id is missing, a `Map` reads the text of each id in the bucket. Among very many ids each is a cache miss, which took
 * a quarter of the time of an actor's start. Here adjacent hashes are compared. Clients choose ids, so items that find no slot near
 * their own (collisions) overflow into a `Map`.
 */
export class IdTable<T extends { readonly id: string }> {
  /** Pairs: a hash, and its item's index in `#all` plus 1. */
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

  /** The number of indexes for `at`. */
  get places(): number {
    return this.#all.length;
  }

  /** The item at an index, from 0. Items in the overflow have none. */
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

  /** The table must have no item with this id. */
  add(item: T): void {
    if (4 * (this.#used + 1) > this.#slots.length) this.#grow();
    this.#put(item);
  }

  delete(item: T): void {
    const hash = this.#hash(item.id);
    for (let step = 0; step < LONGEST; step += 1) {
      const at = ((hash + step) << 1) & (this.#slots.length - 1);
      const place = this.#slots[at + 1] ?? 0;
      if (place === 0) return;
      if (place === DELETED || this.#all[place - 1] !== item) continue;
      this.#slots[at + 1] = DELETED;
      this.#all[place - 1] = undefined;
      this.#vacant.push(place - 1);
      if (this.#slots.length > 2 * FIRST && this.size * 32 < this.#slots.length) this.#shrink();
      return;
    }
    if (this.#overflow.get(item.id) === item) this.#overflow.delete(item.id);
  }

  *values(): IterableIterator<T> {
    for (const item of this.#all) if (item !== undefined) yield item;
    yield* this.#overflow.values();
  }

  #put(item: T): void {
    const hash = this.#hash(item.id);
    const at = this.#free(hash);
    if (at === undefined) {
      this.#overflow.set(item.id, item);
      return;
    }
    const place = this.#vacant.pop() ?? this.#all.length;
    this.#all[place] = item;
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

  /** Moves hashes without reading ids again. If most slots are deleted ones, only those are freed. */
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
    for (const item of overflow) this.#put(item);
  }

  #toOverflow(place: number): void {
    const item = this.#all[place - 1];
    if (item === undefined) return;
    this.#all[place - 1] = undefined;
    this.#vacant.push(place - 1);
    this.#overflow.set(item.id, item);
  }

  #shrink(): void {
    const left = [...this.values()];
    this.#slots = new Int32Array(2 * FIRST);
    this.#used = 0;
    this.#all = [];
    this.#vacant = [];
    this.#overflow.clear();
    for (const item of left) this.add(item);
  }

  /** Caches the last hash, since an id is usually looked up just before it is added. */
  #hash(id: string): number {
    if (id === this.#lastId) return this.#lastHash;
    this.#lastId = id;
    return (this.#lastHash = hashOf(id));
  }
}

/** FNV-1a with its bits mixed once more, since only few of them select the slot. */
function hashOf(id: string): number {
  // Untyped callers may pass anything.
  if (typeof id !== "string") return 0;
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < id.length; index += 1) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}
