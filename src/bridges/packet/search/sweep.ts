import type { ActorId, Change, Engine } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { isAhead, split, type Rows } from "./rows.ts";

const PAGE = 500;
/** Behind every key: these are ASCII. */
const END = "\u{7f}";

/** A walk along all actors: which were changed, and which have gone, while nobody listened. */
export class Sweep {
  readonly #engine: Engine;
  readonly #kinds: readonly string[];
  #kind = 0;
  #after: ActorId | undefined;
  #again = false;

  constructor(engine: Engine, kinds: readonly string[]) {
    this.#engine = engine;
    this.#kinds = kinds;
  }

  get over(): boolean {
    return this.#kind >= this.#kinds.length;
  }

  /** From the first actor on: something was missed. Where it is under way, once it is over. */
  restart(): void {
    if (!this.over) this.#again = true;
    else this.#kind = 0;
  }

  /** From the first actor on, at once. */
  reset(): void {
    this.#kind = 0;
    this.#after = undefined;
    this.#again = false;
  }

  /** The next some: actors whose history goes on, and, told apart, those that have to be read anew. */
  async page(rows: Rows): Promise<readonly { readonly change: Pick<Change, "id" | "seq">; readonly anew: boolean }[]> {
    const kind = this.#kinds[this.#kind];
    if (kind === undefined) return [];
    const after = this.#after;
    const page = await this.#engine.list({ kind, limit: PAGE, ...omitUndefined({ after }) });
    const last = page.length < PAGE ? undefined : page.at(-1)?.id;
    const found = [];
    for (const change of page) {
      const cursor = rows.cursor(change.id);
      if (cursor === undefined || cursor.seq < change.seq) found.push({ change, anew: false });
      else if (isAhead(cursor, change) && (await this.#isBehind(change.id, rows))) found.push({ change, anew: true });
    }
    const there = new Set(page.map(({ id }) => id));
    const from = after === undefined ? "" : split(after)[1];
    const to = last === undefined ? END : split(last)[1];
    for (let at = from; ;) {
      const keys = rows.known(kind, at, to, PAGE);
      for (const key of keys) {
        const id: ActorId = `${kind}/${key}`;
        // One that began after the list was made is there.
        if (!there.has(id) && (await this.#engine.read(id)) === undefined) found.push({ change: { id, seq: 0 }, anew: true });
      }
      at = keys.at(-1) ?? to;
      if (keys.length < PAGE) break;
    }
    this.#after = last;
    if (last === undefined) this.#kind += 1;
    if (this.over && this.#again) this.reset();
    return found;
  }

  /** The store was restored from a copy: what was read is ahead of it, or is another chain. Asked again, since the list may be older than the cursor. */
  async #isBehind(id: ActorId, rows: Rows): Promise<boolean> {
    const cursor = rows.cursor(id);
    return cursor !== undefined && isAhead(cursor, await this.#engine.read(id));
  }
}
