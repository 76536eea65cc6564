// Owns: reads and writes of an ordered map in pages, from text to JSON, by UTF-16 code units. Does not own: its stored form
// (map-pages.ts).
//
// An operation writes a bounded amount however large the map is: every write is replicated, and every read may be a round trip.
import { StoreError, type Json, type JsonObject, EngineError, isJsonObject } from "../../core/contract/index.ts";
import {
  COUNT,
  INDEX,
  pageKey,
  pageOf,
  indexOfKey,
  entryIn,
  readCount,
  readPage,
  readPages,
  type Entry,
  type Pages,
  fieldOf,
  leastOf,
  clipped,
  PagesDraft,
  type PageReads,
  type PageWrites,
} from "./map-pages.ts";

export interface Range {
  /** Only keys above it. */
  readonly after?: string | undefined;
  /** Only keys that begin with it. */
  readonly prefix?: string | undefined;
  /** At most 1,000. */
  readonly limit: number;
}

export interface MapList {
  /** In order of keys, by UTF-16 code unit. */
  readonly entries: readonly Entry[];
  /** There may be more after these, even if they are fewer than `limit`: a list has at most about 1 MiB of JSON. */
  readonly more: boolean;
}

export const LIST_ENTRIES = 1_000;
/** Of JSON in one list, which has at least one entry. */
const LIST_BYTES = 1_048_576;

/** Index and page fit at once, unless a page was split or joined between two reads. */
const MAX_TRIES = 16;

/** The entries of a page that count, up to `until`, read at one moment. */
interface KeyRange {
  readonly pages: Pages;
  readonly entries: readonly Entry[];
  readonly until: string | null;
}

/** Reads an ordered map, also concurrently with its writer: each entry as it was at some moment during the call. */
export class PagedReader {
  readonly #reads: PageReads;

  constructor(reads: PageReads) {
    this.#reads = reads;
  }

  async get(key: string): Promise<Json | undefined> {
    return entryIn((await this.#rangeAt(key))?.entries ?? [], key)?.[1];
  }

  async count(): Promise<number> {
    return readCount(await this.#reads.get(COUNT));
  }

  async list({ after, prefix = "", limit }: Range): Promise<MapList> {
    const most = Math.min(limit, LIST_ENTRIES);
    const skip = after !== undefined && after >= prefix ? after : undefined;
    const entries: Entry[] = [];
    let bytes = 0;
    let known: Pages | undefined;
    for (let from: string | null = skip ?? prefix; from !== null;) {
      const range: KeyRange | undefined = await this.#rangeAt(from, known);
      if (range === undefined) break;
      for (const entry of range.entries.slice(indexOfKey(range.entries, from))) {
        if (entry[0] === skip) continue;
        if (!entry[0].startsWith(prefix)) return { entries, more: false };
        bytes += Buffer.byteLength(JSON.stringify(entry));
        if (entries.length >= most || (bytes > LIST_BYTES && entries.length > 0)) return { entries, more: true };
        entries.push(entry);
      }
      known = range.pages;
      from = range.until;
    }
    return { entries, more: false };
  }

  async #rangeAt(key: string, known?: Pages): Promise<KeyRange | undefined> {
    let pages = known;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
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

export interface TakeQuery {
  /** Entries whose `field` is a number below it. */
  readonly before: number;
  readonly field: string;
  /** At most 1,000. */
  readonly limit: number;
}

export interface TakeResult {
  readonly keys: readonly string[];
  /** There may be more of them. */
  readonly more: boolean;
}

/** Pages that one `take` reads. A page with nothing to take is read only once, to learn its least number. */
const TAKE_PAGES = 32;

/** Of JSON. A dead letter has all its arguments, and sealing makes it a third longer than a message may be. */
const VALUE_BYTES = 24 * 2 ** 20;

/**
 * One writer at a time, any number of readers (`PagedReader`). Throws `STATE_TOO_LARGE`, `STORE_FULL` and `STORE_CORRUPT`, having written
 * nothing.
 */
export class PagedMap extends PagedReader {
  readonly #writes: PageWrites;

  constructor(writes: PageWrites) {
    super(writes);
    this.#writes = writes;
  }

  /** Returns true if it is new. */
  async put(key: string, value: Json): Promise<boolean> {
    return (await this.putMany([[key, value]])) === 1;
  }

  /** Returns how many are new. */
  async putMany(entries: readonly Entry[]): Promise<number> {
    const draft = await PagesDraft.of(this.#writes);
    const before = draft.count;
    for (const entry of entries) await setEntry(draft, entry);
    draft.save();
    return draft.count - before;
  }

  /**
   * Sets fields of a value that is an object. With `above`, only if the value's number of that name is less than the one in `fields`.
   * Returns true if there is such a value.
   */
  async patch(key: string, fields: JsonObject, above?: string): Promise<boolean> {
    const draft = await PagesDraft.of(this.#writes);
    const entry = await draft.find(key);
    if (entry === undefined || !isJsonObject(entry[1])) return false;
    if (above !== undefined) {
      const is = fieldOf(entry, above);
      const shall = fieldOf([key, fields], above);
      if (is !== undefined && shall !== undefined && is >= shall) return true;
    }
    await setEntry(draft, [key, { ...entry[1], ...fields }]);
    draft.save();
    return true;
  }

  /** Puts `value` if the current value is exactly `before`. Returns true if it was. */
  async replace(key: string, before: Json, value: Json): Promise<boolean> {
    const draft = await PagesDraft.of(this.#writes);
    const entry = await draft.find(key);
    if (entry === undefined || JSON.stringify(entry[1]) !== JSON.stringify(before)) return false;
    await setEntry(draft, [key, value]);
    draft.save();
    return true;
  }

  /** Returns true if it was there. */
  async delete(key: string): Promise<boolean> {
    const draft = await PagesDraft.of(this.#writes);
    if ((await draft.find(key)) === undefined) return false;
    const at = draft.at(key);
    const page = await draft.changing(at);
    page.splice(indexOfKey(page, key), 1);
    draft.count -= 1;
    await draft.join(at);
    draft.save();
    return true;
  }

  /** Deletes the entries, and returns their keys. */
  async take({ before, field, limit }: TakeQuery): Promise<TakeResult> {
    const most = Math.min(limit, LIST_ENTRIES);
    const draft = await PagesDraft.of(this.#writes);
    if (draft.refs.length === 0) return { keys: [], more: false };
    draft.track(field);
    const keys: string[] = [];
    const isDue = (entry: Entry): boolean => (fieldOf(entry, field) ?? before) < before;
    const touched: string[] = [];
    let more = false;
    let reads = 0;
    for (const [at, { from, least }] of [...draft.refs].entries()) {
      if (least === null || (least !== undefined && least >= before)) continue;
      more = keys.length >= most || reads >= TAKE_PAGES;
      if (more) break;
      reads += 1;
      const entries = await draft.entries(at);
      const due = entries.filter(isDue).slice(0, most - keys.length);
      if (due.length > 0) {
        const taken = new Set(due.map(([key]) => key));
        const page = await draft.changing(at);
        page.splice(0, page.length, ...page.filter(([key]) => !taken.has(key)));
        keys.push(...taken);
        draft.count -= taken.size;
        touched.push(from);
      }
      draft.least(at, leastOf(await draft.entries(at), field));
      more = (draft.refs[at]?.least ?? before) < before;
    }
    for (const from of touched) if (draft.refs.length > 0) await draft.join(draft.at(from));
    draft.save();
    return { keys, more };
  }
}

/** Puts an entry in its page. */
export async function setEntry(draft: PagesDraft, entry: Entry): Promise<void> {
  if (Buffer.byteLength(JSON.stringify(entry[1])) > VALUE_BYTES)
    throw new EngineError("STATE_TOO_LARGE", `A value in a map has at most ${VALUE_BYTES} bytes of JSON: keep less of it.`);
  const [key] = entry;
  const at = draft.at(key);
  const page = await draft.changing(at);
  const place = indexOfKey(page, key);
  const known = page[place]?.[0] === key;
  page.splice(place, known ? 1 : 0, entry);
  if (!known) draft.count += 1;
  draft.lower(at, (field) => fieldOf(entry, field));
  await draft.split(at);
}
