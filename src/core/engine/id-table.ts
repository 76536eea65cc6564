/** More than chance needs where half is free: who makes up ids of one hash gets no further. */
const LONGEST = 16;
const FIRST = 64;
/** Its thing was deleted: what was put behind it still is there. */
const GONE = -1;

/**
 * Things by their ids. To learn that an id is not there, a `Map` looks at the text of each id in the bucket: among many, each is
 * a wait for the memory, and all together were a quarter of a birth. Here it is found by hashes that lie side by side. Ids are
 * for strangers to choose, so what finds no slot near its own goes into a `Map` after all.
 */
export class IdTable<T extends { readonly id: string }> {
  /** Pairs: a hash, and its thing's place among all, from 1. */
  #slots = new Int32Array(2 * FIRST);
  /** Slots that are not free, what is gone included. */
  #used = 0;
  #all: (T | undefined)[] = [];
  #vacant: number[] = [];
  readonly #crowded = new Map<string, T>();
  #lastId = "";
  #lastHash = hashOf("");

  get size(): number {
    return this.#all.length - this.#vacant.length + this.#crowded.size;
  }

  /** Places in which there may be a thing. */
  get places(): number {
    return this.#all.length;
  }

  /** What is in a place, from 0. Of what has the same hash as many others, nothing is found so. */
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
      if (place === GONE || slots[at] !== hash) continue;
      const found = this.#all[place - 1];
      if (found?.id === id) return found;
    }
    return this.#crowded.get(id);
  }

  /** Only where there is none of its id. */
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
      if (place === GONE || this.#all[place - 1] !== thing) continue;
      this.#slots[at + 1] = GONE;
      this.#all[place - 1] = undefined;
      this.#vacant.push(place - 1);
      if (this.#slots.length > 2 * FIRST && this.size * 32 < this.#slots.length) this.#shrink();
      return;
    }
    if (this.#crowded.get(thing.id) === thing) this.#crowded.delete(thing.id);
  }

  *values(): IterableIterator<T> {
    for (const thing of this.#all) if (thing !== undefined) yield thing;
    yield* this.#crowded.values();
  }

  #put(thing: T): void {
    const hash = this.#hash(thing.id);
    const at = this.#free(hash);
    if (at === undefined) {
      this.#crowded.set(thing.id, thing);
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

  /** Hashes are moved, no text is read again. Where most slots are of what is gone, they are only freed. */
  #grow(): void {
    const old = this.#slots;
    const crowded = [...this.#crowded.values()];
    this.#slots = new Int32Array(8 * this.size > old.length ? 2 * old.length : old.length);
    this.#used = 0;
    this.#crowded.clear();
    for (let from = 0; from < old.length; from += 2) {
      const [hash = 0, place = 0] = [old[from], old[from + 1]];
      if (place <= 0) continue;
      const at = this.#free(hash);
      if (at !== undefined) this.#fill(at, hash, place);
      else this.#crowd(place);
    }
    for (const thing of crowded) this.#put(thing);
  }

  #crowd(place: number): void {
    const thing = this.#all[place - 1];
    if (thing === undefined) return;
    this.#all[place - 1] = undefined;
    this.#vacant.push(place - 1);
    this.#crowded.set(thing.id, thing);
  }

  #shrink(): void {
    const left = [...this.values()];
    this.#slots = new Int32Array(2 * FIRST);
    this.#used = 0;
    this.#all = [];
    this.#vacant = [];
    this.#crowded.clear();
    for (const thing of left) this.add(thing);
  }

  /** Who adds an id has just looked for it. */
  #hash(id: string): number {
    if (id === this.#lastId) return this.#lastHash;
    this.#lastId = id;
    return (this.#lastHash = hashOf(id));
  }
}

/** FNV-1a, its bits mixed once more: few of them choose the slot. */
function hashOf(id: string): number {
  // Nobody's id, as code without types may ask for: it is not there.
  if (typeof id !== "string") return 0;
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < id.length; index += 1) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85_eb_ca_6b);
  return hash ^ (hash >>> 13);
}
