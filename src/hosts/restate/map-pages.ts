// Owns: the pages of an ordered map as they are stored, and changes to them. Does not own: operations on entries (paged-map.ts).
//
// A map has an index under one name, and one name per page. Readers run concurrently with the one writer and see each name as it is at
// that moment, so an index and a page may not fit. Therefore a page contains its own range: one that ends before the index says was
// split since the index was read; one that ends after it has entries whose other copy counts. `PagesDraft` writes in the order that
// this needs.
import { StoreError, type Json } from "../../core/contract/index.ts";
import { isObject } from "./handler-inputs.ts";

/** Of JSON in a page; a single entry may be longer. */
export const PAGE_BYTES = 16_384;

/** Of JSON in the index, which every operation reads. */
const INDEX_BYTES = 262_144;

export type Entry = readonly [key: string, value: Json];

export interface PageRef {
  /** No key in the page is less; the first page's is "". */
  readonly from: string;
  /** Name of the page. */
  readonly name: number;
  /** No entry's `field` is less. Null: no entry has it. Undefined: not known. */
  readonly least?: number | null;
}

export interface Pages {
  /** The next page's name. */
  readonly next: number;
  /** The field that `least` refers to. */
  readonly field?: string;
  readonly refs: readonly PageRef[];
}

export interface Page {
  readonly from: string;
  /** Every key in the page is less. Null: the last page. */
  readonly until: string | null;
  readonly entries: readonly Entry[];
}

export const INDEX = "pages";
export const COUNT = "count";
export const pageKey = (name: number): string => `page/${name}`;

const NO_PAGES: Pages = { next: 0, refs: [] };

/** Throws `STORE_CORRUPT` if something else wrote under the name. */
export function readPages(value: unknown): Pages {
  if (value === null || value === undefined) return NO_PAGES;
  if (isPages(value)) return value;
  throw notOurs("index of pages");
}

/** Throws `STORE_CORRUPT` if something else wrote under the name. */
export function readPage(value: unknown): Page | undefined {
  if (value === null || value === undefined) return undefined;
  if (isPage(value)) return value;
  throw notOurs("page");
}

/** Throws `STORE_CORRUPT` if something else wrote under the name. */
export function readCount(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "number") return value;
  throw notOurs("count");
}

const notOurs = (what: string): StoreError =>
  new StoreError("STORE_CORRUPT", `A map on the Restate server holds no ${what} where it should: let nothing else write to it.`);

const isRef = (value: unknown): value is PageRef =>
  isObject(value) && typeof value["from"] === "string" && typeof value["name"] === "number";

const isPages = (value: unknown): value is Pages =>
  isObject(value) && typeof value["next"] === "number" && Array.isArray(value["refs"]) && value["refs"].every(isRef);

export const isEntries = (value: unknown): value is readonly Entry[] =>
  Array.isArray(value) &&
  value.every((entry) => Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "string" && entry[1] !== undefined);

const isPage = (value: unknown): value is Page =>
  isObject(value) &&
  typeof value["from"] === "string" &&
  (value["until"] === null || typeof value["until"] === "string") &&
  isEntries(value["entries"]);

/** Binary search: the index of the first element that is not less than `key`. */
function searchKey(key: string, length: number, keyAt: (index: number) => string): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyAt(middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The page whose range has `key`. −1 if there are no pages. */
export function pageOf(refs: readonly PageRef[], key: string): number {
  const at = searchKey(key, refs.length, (index) => refs[index]?.from ?? "");
  return refs[at]?.from === key ? at : at - 1;
}

export const indexOfKey = (entries: readonly Entry[], key: string): number =>
  searchKey(key, entries.length, (index) => entries[index]?.[0] ?? "");

export function entryIn(entries: readonly Entry[], key: string): Entry | undefined {
  const entry = entries[indexOfKey(entries, key)];
  return entry?.[0] === key ? entry : undefined;
}

const entryBytes = (entry: Entry): number => Buffer.byteLength(JSON.stringify(entry)) + 1;

const bytesOf = (entries: readonly Entry[]): number => entries.reduce((sum, entry) => sum + entryBytes(entry), 2);

/** Halves it until each part is small enough or has one entry. */
function splitEntries(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const bytes = bytesOf(entries);
  if (bytes <= PAGE_BYTES || entries.length < 2) return [entries];
  let cut = 0;
  for (let sum = 0; cut < entries.length - 1; cut += 1) {
    const entry = entries[cut];
    if (entry === undefined) break;
    const size = entryBytes(entry);
    if (cut > 0 && sum + size / 2 > bytes / 2) break;
    sum += size;
  }
  return [...splitEntries(entries.slice(0, cut)), ...splitEntries(entries.slice(cut))];
}

/**
 * The shortest text above `last` and not above `first`, so that long keys do not fill the index. It may end in a lone surrogate, which JSON
 * escapes; so keys with lone surrogates are allowed too.
 */
function between(last: string, first: string): string {
  let same = 0;
  while (same < last.length && last[same] === first[same]) same += 1;
  return first.slice(0, same + 1);
}

/** The number in `field` of an entry. */
export const fieldOf = ([, value]: Entry, field: string): number | undefined => {
  const number = isObject(value) ? value[field] : undefined;
  return typeof number === "number" ? number : undefined;
};

/** The least number in `field`. Null if no entry has one. */
export const leastOf = (entries: readonly Entry[], field: string): number | null =>
  entries.reduce<number | null>((least, entry) => {
    const number = fieldOf(entry, field);
    return number === undefined || (least !== null && least <= number) ? least : number;
  }, null);

/** JSON values under names. Every `get` may be a round trip. Undefined or null if there is nothing. */
export interface PageReads {
  get(name: string): Promise<unknown>;
}

export interface PageWrites extends PageReads {
  set(name: string, value: unknown): void;
  clear(name: string): void;
}

/** Without entries that another page has taken over. */
export const clipped = (entries: readonly Entry[], until: string | null): readonly Entry[] =>
  until === null ? entries : entries.slice(0, indexOfKey(entries, until));

interface LoadedPage {
  readonly entries: Entry[];
  /** As it is stored. Undefined if it is not stored. */
  readonly until: string | null | undefined;
  changed: boolean;
}

/** A page with less is joined to a neighbour, if both then have room. */
const SMALL_BYTES = PAGE_BYTES / 4;
const JOINED_BYTES = PAGE_BYTES - SMALL_BYTES;

/** The changes of one operation to a map's pages; nothing is written before `save`. An operation splits or joins, never both. */
export class PagesDraft {
  count: number;
  readonly #writes: PageWrites;
  readonly #before: Pages;
  readonly #countBefore: number;
  readonly #refs: PageRef[];
  readonly #loaded = new Map<number, LoadedPage>();
  readonly #removed: number[] = [];
  #next: number;
  #field: string | undefined;
  #indexChanged = false;

  private constructor(writes: PageWrites, before: Pages, count: number) {
    this.#writes = writes;
    this.#before = before;
    this.#countBefore = count;
    this.count = count;
    this.#refs = [...before.refs];
    this.#next = before.next;
    this.#field = before.field;
  }

  static async of(writes: PageWrites): Promise<PagesDraft> {
    // Both reads start at once, but the SDK fails if two are awaited at once.
    const [pages, count] = [writes.get(INDEX), writes.get(COUNT)];
    return new PagesDraft(writes, readPages(await pages), readCount(await count));
  }

  get refs(): readonly PageRef[] {
    return this.#refs;
  }

  /** The page that `key` belongs to. Creates the first page. */
  at(key: string): number {
    if (this.#refs.length === 0) this.#insert(0, "", []);
    return pageOf(this.#refs, key);
  }

  /** The entry of that key. */
  async find(key: string): Promise<Entry | undefined> {
    return this.#refs.length === 0 ? undefined : entryIn(await this.entries(this.at(key)), key);
  }

  /** For reads; `changing` returns the same for writes. */
  async entries(at: number): Promise<readonly Entry[]> {
    return (await this.#load(at)).entries;
  }

  async changing(at: number): Promise<Entry[]> {
    const loaded = await this.#load(at);
    loaded.changed = true;
    return loaded.entries;
  }

  /** An entry with this number was put into the page. */
  lower(at: number, numberIn: (field: string) => number | undefined): void {
    const ref = this.#refs[at];
    const number = this.#field === undefined ? undefined : numberIn(this.#field);
    if (ref?.least === undefined || number === undefined || (ref.least !== null && ref.least <= number)) return;
    this.least(at, number);
  }

  /** Sets the field that `least` refers to; values for another field are dropped. */
  track(field: string): void {
    if (this.#field === field) return;
    this.#field = field;
    this.#indexChanged = true;
    for (const [at, { from, name }] of this.#refs.entries()) this.#refs[at] = { from, name };
  }

  least(at: number, least: number | null): void {
    const ref = this.#refs[at];
    if (ref === undefined || ref.least === least) return;
    this.#refs[at] = { ...ref, least };
    this.#indexChanged = true;
  }

  /** Splits it into as many pages as it needs. */
  async split(at: number): Promise<void> {
    const { entries } = await this.#load(at);
    const [first = [], ...more] = splitEntries(entries);
    if (more.length === 0) return;
    entries.length = first.length;
    this.#updateLeast(at);
    let last = first.at(-1);
    for (const [n, part] of more.entries()) {
      this.#insert(at + 1 + n, between(last?.[0] ?? "", part[0]?.[0] ?? ""), [...part]);
      last = part.at(-1);
    }
  }

  /** Joins it to a neighbour, if it is small and both fit in one page. */
  async join(at: number): Promise<void> {
    const own = await this.entries(at);
    if (bytesOf(own) >= SMALL_BYTES) return;
    if (this.#refs.length === 1) {
      if (own.length === 0) this.#drop(0);
      return;
    }
    const left = at + 1 < this.#refs.length ? at : at - 1;
    const other = await this.entries(left === at ? at + 1 : left);
    if (own.length > 0 && bytesOf(own) + bytesOf(other) > JOINED_BYTES) return;
    const taken = await this.entries(left + 1);
    (await this.changing(left)).push(...taken);
    this.#drop(left + 1);
    this.#updateLeast(left);
  }

  /**
   * Readers in between find every entry that this operation neither puts nor deletes, because of the order: pages that are new or reach
   * further, the index, pages that reach less far, removed pages. Throws `STORE_FULL` before it writes.
   */
  save(): void {
    const index: Pages = { next: this.#next, ...(this.#field !== undefined && { field: this.#field }), refs: this.#refs };
    if (this.#next !== this.#before.next && Buffer.byteLength(JSON.stringify(index)) > INDEX_BYTES)
      throw new StoreError("STORE_FULL", "This part of the map holds as much as it can: delete entries, or spread them over more parts.");
    const after: (() => void)[] = [];
    for (const [at, { from, name }] of this.#refs.entries()) {
      const loaded = this.#loaded.get(name);
      const until = this.#refs[at + 1]?.from ?? null;
      if (loaded === undefined || (!loaded.changed && loaded.until === until)) continue;
      const page: Page = { from, until, entries: loaded.entries };
      const set = (): void => this.#writes.set(pageKey(name), page);
      const reachesLess = loaded.until !== undefined && until !== null && (loaded.until === null || until < loaded.until);
      if (reachesLess) after.push(set);
      else set();
    }
    if (this.#refs.length === 0 && this.#before.refs.length > 0) this.#writes.clear(INDEX);
    else if (this.#indexChanged && this.#refs.length > 0) this.#writes.set(INDEX, index);
    for (const set of after) set();
    for (const name of this.#removed) this.#writes.clear(pageKey(name));
    if (this.count === 0 && this.#countBefore !== 0) this.#writes.clear(COUNT);
    else if (this.count !== this.#countBefore) this.#writes.set(COUNT, this.count);
  }

  async #load(at: number): Promise<LoadedPage> {
    const { name } = this.#refs[at] ?? { name: -1 };
    const known = this.#loaded.get(name);
    if (known) return known;
    const page = readPage(await this.#writes.get(pageKey(name)));
    if (page === undefined)
      throw new StoreError("STORE_CORRUPT", "A page of a map is missing: let nothing else write to the virtual objects of maps.");
    // An operation that was killed half-way may have left entries that do not count.
    const entries = [...clipped(page.entries, this.#refs[at + 1]?.from ?? null)];
    const loaded: LoadedPage = { entries, until: page.until, changed: false };
    this.#loaded.set(name, loaded);
    return loaded;
  }

  #insert(at: number, from: string, entries: Entry[]): void {
    const name = this.#next++;
    this.#refs.splice(at, 0, { from, name, ...(this.#field !== undefined && { least: leastOf(entries, this.#field) }) });
    this.#loaded.set(name, { entries, until: undefined, changed: true });
    this.#indexChanged = true;
  }

  #drop(at: number): void {
    const [ref] = this.#refs.splice(at, 1);
    if (ref === undefined) return;
    this.#loaded.delete(ref.name);
    this.#removed.push(ref.name);
    this.#indexChanged = true;
  }

  #updateLeast(at: number): void {
    const loaded = this.#loaded.get(this.#refs[at]?.name ?? -1);
    if (loaded && this.#field !== undefined) this.least(at, leastOf(loaded.entries, this.#field));
  }
}
