import { sha256Base64url, utf8Of } from "../platform/index.ts";
import { memoize } from "../contract/internal.ts";
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
      this.#bytes = utf8Of(this.text + ending);
      this.#ending = ending;
    }
    return this.#bytes;
  }
}

/** The pages of lists, cut and serialised once per list and revision. */
export class Pages {
  readonly #size: number;
  readonly #made = memoize((_entries: readonly Entry[]) => new Map<Revision, readonly Page[]>());

  constructor(size: number) {
    this.#size = size;
  }

  /** Throws `PARAMS` for a cursor of another list, or of this one before it changed. */
  page(list: keyof Lists, entries: readonly Entry[], revision: Revision, cursor: string | undefined): Page {
    const page = this.#pages(list, entries, revision).find((one) => one.cursor === cursor);
    if (page === undefined) throw new Fault("PARAMS", "This cursor is of no page of the list as it is now; start again without a cursor.");
    return page;
  }

  #pages(list: keyof Lists, entries: readonly Entry[], revision: Revision): readonly Page[] {
    const made = this.#made(entries);
    let pages = made.get(revision);
    if (pages === undefined) {
      pages = this.#cut(list, entries, revision);
      made.set(revision, pages);
    }
    return pages;
  }

  #cut(list: keyof Lists, entries: readonly Entry[], revision: Revision): readonly Page[] {
    const texts = entries.map((entry) => JSON.stringify(shapeEntry(list, entry, revision)));
    const count = Math.max(1, Math.ceil(texts.length / this.#size));
    // The same list has the same cursors in every process, and a changed one has others.
    const digest = sha256Base64url(list + texts.join("\n")).slice(0, 16);
    return Array.from({ length: count }, (_, at) => {
      const here = texts.slice(at * this.#size, (at + 1) * this.#size).join(",");
      const next = at + 1 < count ? `,"nextCursor":"${digest}.${at + 1}"` : "";
      return new Page(at === 0 ? undefined : `${digest}.${at}`, `"${list}":[${here}]${next}`);
    });
  }
}
