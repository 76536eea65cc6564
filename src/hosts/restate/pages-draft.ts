import { StoreError } from "../../core/contract/index.ts";
import {
  between,
  bytesOf,
  COUNT,
  INDEX,
  INDEX_BYTES,
  leastOf,
  pageKey,
  PAGE_BYTES,
  pageOf,
  parted,
  readCount,
  readPage,
  readPages,
  type Entry,
  type Page,
  type PageRef,
  type Pages,
} from "./map-page.ts";
import { clipped, type PageReads } from "./paged-reader.ts";

export interface PageWrites extends PageReads {
  set(name: string, value: unknown): void;
  clear(name: string): void;
}

interface Loaded {
  readonly entries: Entry[];
  /** As it is kept. Undefined: not at all. */
  readonly until: string | null | undefined;
  changed: boolean;
}

/** A page less full than this is joined to a neighbour, if both then have room. */
const SMALL_BYTES = PAGE_BYTES / 4;
const JOINED_BYTES = PAGE_BYTES - SMALL_BYTES;

/** What one operation makes of a map's pages; nothing of it is written before `save`. An operation splits or joins, never both. */
export class PagesDraft {
  count: number;
  readonly #writes: PageWrites;
  readonly #kept: Pages;
  readonly #keptCount: number;
  readonly #refs: PageRef[];
  readonly #loaded = new Map<number, Loaded>();
  readonly #gone: number[] = [];
  #next: number;
  #field: string | undefined;
  #indexChanged = false;

  private constructor(writes: PageWrites, kept: Pages, count: number) {
    this.#writes = writes;
    this.#kept = kept;
    this.#keptCount = count;
    this.count = count;
    this.#refs = [...kept.refs];
    this.#next = kept.next;
    this.#field = kept.field;
  }

  static async of(writes: PageWrites): Promise<PagesDraft> {
    // Both are asked for at once, but the SDK fails where two are awaited at once.
    const [pages, count] = [writes.get(INDEX), writes.get(COUNT)];
    return new PagesDraft(writes, readPages(await pages), readCount(await count));
  }

  get refs(): readonly PageRef[] {
    return this.#refs;
  }

  /** The page that `key` belongs to, begun where there is none. */
  at(key: string): number {
    if (this.#refs.length === 0) this.#insert(0, "", []);
    return pageOf(this.#refs, key);
  }

  /** For reading; `changing` gives the same for writing. */
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

  /** Says what `least` is of; what it was of another is forgotten. */
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

  /** Into as many pages as it needs. */
  async split(at: number): Promise<void> {
    const { entries } = await this.#load(at);
    const [first = [], ...more] = parted(entries);
    if (more.length === 0) return;
    entries.length = first.length;
    this.#relearn(at);
    let last = first.at(-1);
    for (const [n, part] of more.entries()) {
      this.#insert(at + 1 + n, between(last?.[0] ?? "", part[0]?.[0] ?? ""), [...part]);
      last = part.at(-1);
    }
  }

  /** With a neighbour, where it is small and both have room in one. */
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
    this.#relearn(left);
  }

  /**
   * In this order, readers in between find every entry that was neither put nor deleted by this: pages that are new or
   * reach further, the index, pages that reach less far, pages that are gone. Throws `STORE_FULL` before it writes.
   */
  save(): void {
    const index: Pages = { next: this.#next, ...(this.#field !== undefined && { field: this.#field }), refs: this.#refs };
    if (this.#next !== this.#kept.next && Buffer.byteLength(JSON.stringify(index)) > INDEX_BYTES)
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
    if (this.#refs.length === 0 && this.#kept.refs.length > 0) this.#writes.clear(INDEX);
    else if (this.#indexChanged && this.#refs.length > 0) this.#writes.set(INDEX, index);
    for (const set of after) set();
    for (const name of this.#gone) this.#writes.clear(pageKey(name));
    if (this.count === 0 && this.#keptCount !== 0) this.#writes.clear(COUNT);
    else if (this.count !== this.#keptCount) this.#writes.set(COUNT, this.count);
  }

  async #load(at: number): Promise<Loaded> {
    const { name } = this.#refs[at] ?? { name: -1 };
    const known = this.#loaded.get(name);
    if (known) return known;
    const page = readPage(await this.#writes.get(pageKey(name)));
    if (page === undefined)
      throw new StoreError("STORE_CORRUPT", "A page of a map is missing: let nothing else write to the virtual objects of maps.");
    // An operation that was killed half-way may have left more than counts.
    const entries = [...clipped(page.entries, this.#refs[at + 1]?.from ?? null)];
    const loaded: Loaded = { entries, until: page.until, changed: false };
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
    this.#gone.push(ref.name);
    this.#indexChanged = true;
  }

  #relearn(at: number): void {
    const loaded = this.#loaded.get(this.#refs[at]?.name ?? -1);
    if (loaded && this.#field !== undefined) this.least(at, leastOf(loaded.entries, this.#field));
  }
}
