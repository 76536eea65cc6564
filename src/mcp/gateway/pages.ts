import { sha256Base64url, utf8Of } from "../../core/platform/index.ts";
import { memoize, wellFormed } from "../../core/contract/internal.ts";
import type { Entry, Lists } from "../source/index.ts";
import { shapeEntry } from "./definition.ts";
import { Fault } from "./errors.ts";
import type { Revision } from "./revision.ts";

/** One page of a list as its result's members: written out as it is, never again serialised. */
export class Page {
  /** What asks for this page; undefined: the first. */
  readonly cursor: string | undefined;
  readonly text: string;
  #ending = "";
  #bytes: Uint8Array | undefined;

  constructor(cursor: string | undefined, text: string) {
    this.cursor = cursor;
    this.text = text;
  }

  /** With what ends its reply, which is the same from one to the next: one piece less to write. */
  before(ending: string): Uint8Array {
    if (this.#bytes === undefined || this.#ending !== ending) {
      this.#bytes = utf8Of(this.text + wellFormed(ending));
      this.#ending = ending;
    }
    return this.#bytes;
  }
}

// Clients that ask for the first page only have all of a list up to here; beyond it, one answer would be too much for many.
const MOST_CHARACTERS = 4_194_304;

/** Of an entry, by which its list goes on after it. */
const markOf = ({ uri }: Entry): string => sha256Base64url(JSON.stringify(uri) ?? "").slice(0, 12);

const placesOf = memoize((entries: readonly Entry[]) => new Map(entries.map((entry, at) => [markOf(entry), at])));

/** The pages of lists, cut and serialised once per list and revision. */
export class Pages {
  readonly #size: number;
  readonly #first: (list: keyof Lists, entries: readonly Entry[]) => void;
  readonly #made = memoize((_entries: readonly Entry[]) => new Map<Revision, readonly Page[]>());

  /** `first` is called with a list that is new, once for each revision. */
  constructor(size: number, first: (list: keyof Lists, entries: readonly Entry[]) => void = () => undefined) {
    this.#size = size;
    this.#first = first;
  }

  /**
   * Throws `PARAMS` for a cursor of another list, or of this one before it changed. `follows`: a list that follows the state
   * changes while it is read; it goes on after the entry that was its page's last, as long as that is in it.
   */
  page(list: keyof Lists, entries: readonly Entry[], revision: Revision, cursor: string | undefined, follows = false): Page {
    const page =
      this.#pages(list, entries, revision, follows).find((one) => one.cursor === cursor) ??
      (follows && cursor !== undefined ? this.#after(list, entries, revision, cursor) : undefined);
    if (page === undefined) throw new Fault("PARAMS", "This cursor is of no page of the list as it is now; start again without a cursor.");
    return page;
  }

  #after(list: keyof Lists, entries: readonly Entry[], revision: Revision, cursor: string): Page | undefined {
    const at = placesOf(entries).get(cursor.slice(cursor.lastIndexOf(".") + 1));
    if (at === undefined) return undefined;
    const texts = textsOf(list, entries.slice(at + 1, at + 1 + this.#size), revision);
    const here = texts.slice(0, this.#count(texts, 0));
    const last = here.length === 0 ? undefined : entries[at + here.length];
    const next = last === undefined || at + 1 + here.length === entries.length ? undefined : `after.${markOf(last)}`;
    return new Page(cursor, written(list, here, next));
  }

  #pages(list: keyof Lists, entries: readonly Entry[], revision: Revision, follows: boolean): readonly Page[] {
    const made = this.#made(entries);
    let pages = made.get(revision);
    if (pages === undefined) {
      this.#first(list, entries);
      pages = this.#cut(list, entries, revision, follows);
      made.set(revision, pages);
    }
    return pages;
  }

  /** How many of the entries from there on make one page. */
  #count(texts: readonly string[], from: number): number {
    let characters = 0;
    let count = 0;
    for (let at = from; at < texts.length && count < this.#size; at += 1) {
      characters += texts[at]?.length ?? 0;
      if (count > 0 && characters > MOST_CHARACTERS) break;
      count += 1;
    }
    return count;
  }

  #cut(list: keyof Lists, entries: readonly Entry[], revision: Revision, follows: boolean): readonly Page[] {
    const texts = textsOf(list, entries, revision);
    const starts = [0];
    for (let at = this.#count(texts, 0); at < texts.length; at += this.#count(texts, at)) starts.push(at);
    // The same list has the same cursors in every process, and a changed one has others.
    const digest = sha256Base64url(list + texts.join("\n")).slice(0, 16);
    const cursorOf = (at: number): string | undefined => {
      const last = entries[(starts[at] ?? 0) - 1];
      if (last === undefined) return undefined;
      return follows ? `${digest}.${at}.${markOf(last)}` : `${digest}.${at}`;
    };
    return starts.map((start, at) => new Page(cursorOf(at), written(list, texts.slice(start, starts[at + 1]), cursorOf(at + 1))));
  }
}

const textsOf = (list: keyof Lists, entries: readonly Entry[], revision: Revision): readonly string[] =>
  entries.map((entry) => wellFormed(JSON.stringify(shapeEntry(list, entry, revision))));

const written = (list: keyof Lists, texts: readonly string[], nextCursor: string | undefined): string =>
  `"${list}":[${texts.join(",")}]${nextCursor === undefined ? "" : `,"nextCursor":"${nextCursor}"`}`;
