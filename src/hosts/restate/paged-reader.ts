import { StoreError, type Json } from "../../core/contract/index.ts";
import { COUNT, INDEX, pageKey, pageOf, placeIn, readCount, readPage, readPages, type Entry, type Pages } from "./map-page.ts";

/** JSON values under names. Every `get` may be a round trip. Undefined or null where there is nothing. */
export interface PageReads {
  get(name: string): Promise<unknown>;
}

export interface Range {
  /** Only keys above it. */
  readonly after?: string;
  /** Only keys that begin with it. */
  readonly prefix?: string;
  /** At most 1,000. */
  readonly limit: number;
}

export interface Listed {
  /** In order of keys, by UTF-16 code unit. */
  readonly entries: readonly Entry[];
  /** There may be more after these, also where they are fewer than `limit`: a list has about 1 MiB of JSON at most. */
  readonly more: boolean;
}

export const LIST_ENTRIES = 1_000;
/** Of JSON in one list, which has one entry at least. */
const LIST_BYTES = 1_048_576;

/** Index and page fit at once unless a page was split or joined between two reads. */
const MOST_TRIES = 16;

/** What is read at one moment: the entries of a page that count, from `key` to `until`. */
interface Stretch {
  readonly pages: Pages;
  readonly entries: readonly Entry[];
  readonly until: string | null;
}

/** Reads an ordered map, also beside its writer: each entry as it was at some moment during the call. */
export class PagedReader {
  readonly #reads: PageReads;

  constructor(reads: PageReads) {
    this.#reads = reads;
  }

  async get(key: string): Promise<Json | undefined> {
    const entries = (await this.#stretch(key))?.entries ?? [];
    const entry = entries[placeIn(entries, key)];
    return entry?.[0] === key ? entry[1] : undefined;
  }

  async count(): Promise<number> {
    return readCount(await this.#reads.get(COUNT));
  }

  async list({ after, prefix = "", limit }: Range): Promise<Listed> {
    const most = Math.min(limit, LIST_ENTRIES);
    const skip = after !== undefined && after >= prefix ? after : undefined;
    const entries: Entry[] = [];
    let bytes = 0;
    let known: Pages | undefined;
    for (let from: string | null = skip ?? prefix; from !== null;) {
      const stretch: Stretch | undefined = await this.#stretch(from, known);
      if (stretch === undefined) break;
      for (const entry of stretch.entries.slice(placeIn(stretch.entries, from))) {
        if (entry[0] === skip) continue;
        if (!entry[0].startsWith(prefix)) return { entries, more: false };
        bytes += Buffer.byteLength(JSON.stringify(entry));
        if (entries.length >= most || (bytes > LIST_BYTES && entries.length > 0)) return { entries, more: true };
        entries.push(entry);
      }
      known = stretch.pages;
      from = stretch.until;
    }
    return { entries, more: false };
  }

  async #stretch(key: string, known?: Pages): Promise<Stretch | undefined> {
    let pages = known;
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      pages ??= readPages(await this.#reads.get(INDEX));
      const at = pageOf(pages.refs, key);
      const ref = pages.refs[at];
      if (ref === undefined) return undefined;
      const page = readPage(await this.#reads.get(pageKey(ref.name)));
      const until = pages.refs[at + 1]?.from ?? null;
      if (page?.from === ref.from && !endsBefore(page.until, until)) return { pages, entries: clipped(page.entries, until), until };
      pages = undefined;
    }
    throw new StoreError("STORE_CONFLICT", "The map changed with every attempt to read it: read it again.");
  }
}

const endsBefore = (one: string | null, other: string | null): boolean => one !== null && (other === null || one < other);

/** Without those another page has taken over. */
export const clipped = (entries: readonly Entry[], until: string | null): readonly Entry[] =>
  until === null ? entries : entries.slice(0, placeIn(entries, until));
