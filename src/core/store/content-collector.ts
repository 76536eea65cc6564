import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Collected, Digest } from "../contract/index.ts";
import { int, text } from "./column.ts";
import type { ContentRows } from "./content-rows.ts";

/** What one transaction looks at: others' writes wait no longer than it takes. */
const AT_ONCE = 256;

/**
 * Marks, then sweeps, beside others' writes: what is put meanwhile is marked as well, and whether a label names a piece
 * is asked in the transaction that would drop it. One collection at a time. Marks lie in a temporary table, which no
 * number of them can outgrow memory with.
 */
export class ContentCollector {
  readonly #database: DatabaseSync;
  readonly #rows: ContentRows;
  readonly #write: <T>(work: () => T) => Promise<T>;
  readonly #mark: StatementSync;
  readonly #next: StatementSync;
  readonly #count: StatementSync;
  #running = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(database: DatabaseSync, rows: ContentRows, write: <T>(work: () => T) => Promise<T>) {
    database.exec("CREATE TEMP TABLE live(digest TEXT PRIMARY KEY) WITHOUT ROWID");
    this.#database = database;
    this.#rows = rows;
    this.#write = write;
    this.#mark = database.prepare("INSERT INTO live VALUES(?) ON CONFLICT DO NOTHING");
    this.#next = database.prepare(
      `SELECT digest, EXISTS(SELECT 1 FROM live WHERE live.digest = piece.digest) OR EXISTS(SELECT 1 FROM label WHERE label.digest = piece.digest) AS used
       FROM piece WHERE digest > ? ORDER BY digest LIMIT ${AT_ONCE}`,
    );
    this.#count = database.prepare("SELECT count(*) AS n FROM piece");
  }

  /** A piece was put, perhaps again: a collection under way leaves it. */
  touched(digest: Digest): void {
    if (this.#running) this.#mark.run(digest);
  }

  collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    const collected = this.#last.then(() => this.#collect(live));
    this.#last = collected.catch(() => undefined);
    return collected;
  }

  async #collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    await this.#write(() => {
      this.#database.exec("DELETE FROM live");
      this.#running = true;
    });
    try {
      await this.#markAll(live);
      return await this.#sweep();
    } finally {
      this.#running = false;
    }
  }

  async #markAll(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<void> {
    let batch: Digest[] = [];
    const mark = async (): Promise<void> => {
      const digests = batch;
      batch = [];
      await this.#write(() => {
        for (const digest of digests) this.#mark.run(digest);
      });
    };
    for await (const digest of live) if (batch.push(digest) >= AT_ONCE) await mark();
    await mark();
  }

  async #sweep(): Promise<Collected> {
    let dropped = 0;
    let bytes = 0;
    let after: Digest | undefined = "";
    while (after !== undefined) {
      const from: Digest = after;
      const swept = await this.#write(() => this.#sweepFrom(from));
      dropped += swept.dropped;
      bytes += swept.bytes;
      after = swept.last;
    }
    const kept = await this.#write(() => int(this.#count.get()?.["n"]));
    return { kept, dropped, bytes };
  }

  #sweepFrom(after: Digest): { readonly dropped: number; readonly bytes: number; readonly last: Digest | undefined } {
    const rows = this.#next.all(after);
    let dropped = 0;
    let bytes = 0;
    for (const columns of rows) {
      if (columns["used"] !== 0) continue;
      bytes += this.#rows.drop(text(columns["digest"]));
      dropped += 1;
    }
    const last = rows.length < AT_ONCE ? undefined : text(rows.at(-1)?.["digest"]);
    return { dropped, bytes, last };
  }
}
