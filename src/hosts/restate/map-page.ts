/**
 * How an ordered map lies in pages: an index under one name, and one name for each page.
 *
 * Readers run beside the one writer and see each name as it is at that moment, so an index and a page need not fit.
 * Therefore a page tells its own range: one that ends before the index says it does was split since the index was
 * read; one that ends after it holds entries whose other copy counts. `PagesDraft` writes in the order this relies on.
 */
import { StoreError, type Json } from "../../core/contract/index.ts";
import { isObject } from "./is-object.ts";

/** Of JSON in a page; one with a single entry may have more. */
export const PAGE_BYTES = 16_384;

/** Of JSON in the index, which every operation reads. */
export const INDEX_BYTES = 262_144;

export type Entry = readonly [key: string, value: Json];

export interface PageRef {
  /** No key in the page is less; the first page's is "". */
  readonly from: string;
  /** Of the page. */
  readonly name: number;
  /** No entry's `field` is less. Null: no entry has it. Undefined: not known. */
  readonly least?: number | null;
}

export interface Pages {
  /** The next page's name. */
  readonly next: number;
  /** What `least` is of. */
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

/** Throws `STORE_CORRUPT` where something else wrote under the name. */
export function readPages(value: unknown): Pages {
  if (value === null || value === undefined) return NO_PAGES;
  if (isPages(value)) return value;
  throw foreign("index of pages");
}

/** Likewise. */
export function readPage(value: unknown): Page | undefined {
  if (value === null || value === undefined) return undefined;
  if (isPage(value)) return value;
  throw foreign("page");
}

/** Likewise. */
export function readCount(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === "number") return value;
  throw foreign("count");
}

const foreign = (what: string): StoreError =>
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

/** Where `key` stands among what is in order, or where it would: the first that is not less. */
function placeOf(key: string, length: number, keyAt: (index: number) => string): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keyAt(middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The page that `key` is in, if it is anywhere. −1: there are no pages. */
export function pageOf(refs: readonly PageRef[], key: string): number {
  const at = placeOf(key, refs.length, (index) => refs[index]?.from ?? "");
  return refs[at]?.from === key ? at : at - 1;
}

export const placeIn = (entries: readonly Entry[], key: string): number =>
  placeOf(key, entries.length, (index) => entries[index]?.[0] ?? "");

const entryBytes = (entry: Entry): number => Buffer.byteLength(JSON.stringify(entry)) + 1;

export const bytesOf = (entries: readonly Entry[]): number => entries.reduce((sum, entry) => sum + entryBytes(entry), 2);

/** In halves, as long as one has too many bytes and more than one entry. */
export function parted(entries: readonly Entry[]): readonly (readonly Entry[])[] {
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
  return [...parted(entries.slice(0, cut)), ...parted(entries.slice(cut))];
}

/**
 * The shortest text above `last` and not above `first`, so that long keys do not fill the index. It may end in half a
 * character, which JSON escapes; so keys with halves need not be refused either.
 */
export function between(last: string, first: string): string {
  let same = 0;
  while (same < last.length && last[same] === first[same]) same += 1;
  return first.slice(0, same + 1);
}

/** The number an entry has in `field`. */
export const fieldOf = ([, value]: Entry, field: string): number | undefined => {
  const number = isObject(value) ? value[field] : undefined;
  return typeof number === "number" ? number : undefined;
};

/** The least number the entries have in `field`. Null: none has one. */
export const leastOf = (entries: readonly Entry[], field: string): number | null =>
  entries.reduce<number | null>((least, entry) => {
    const number = fieldOf(entry, field);
    return number === undefined || (least !== null && least <= number) ? least : number;
  }, null);
