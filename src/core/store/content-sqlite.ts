/**
 * Contents and their labels on one SQLite file. C2: `put` and `label` settle when their
 * group is on disk. What is read is hashed again.
 */
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Collected, ContentStore, Digest } from "../contract/index.ts";
import { bounded, checkLabel, checkPiece, checkSpace, closed, digestOf, PIECE_BYTES, type ContentBounds } from "./content-bounds.ts";
import { ContentCollector } from "./content-collector.ts";
import { ContentRows } from "./content-rows.ts";
import { APPLICATION, SCHEMA } from "./content-schema.ts";
import { GroupCommit } from "./group-commit.ts";
import { migrate } from "./migrate.ts";
import { lockedFile } from "./open-store.ts";
import type { SqliteOptions } from "./sqlite.ts";
import { storeFault } from "./sqlite-error.ts";
import type { WalSync } from "./wal-sync.ts";

/**
 * Opens the file at `path`, made with its directory where absent, and takes its lock. Throws `StoreError`:
 * `STORE_LOCKED`, `STORE_NEWER`, `STORE_CORRUPT`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_IO`.
 */
export function sqliteContents(
  path: string,
  options: Partial<ContentBounds> & Pick<SqliteOptions, "onLostLog" | "onCheckpoint"> = {},
): ContentStore {
  const bounds = { pieceBytes: PIECE_BYTES, totalBytes: Number.POSITIVE_INFINITY, ...options };
  return lockedFile(
    path,
    dirname(path),
    ({ database, wal, close }) => {
      migrate(database, APPLICATION, SCHEMA);
      return new SqliteContents(database, wal, close, bounds);
    },
    options,
  );
}

class SqliteContents implements ContentStore {
  readonly #close: () => Promise<void>;
  readonly #wal: WalSync;
  readonly #bounds: ContentBounds;
  readonly #rows: ContentRows;
  readonly #commits: GroupCommit;
  readonly #collector: ContentCollector;
  #open = true;

  constructor(database: DatabaseSync, wal: WalSync, close: () => Promise<void>, bounds: ContentBounds) {
    this.#close = close;
    this.#wal = wal;
    this.#bounds = bounds;
    this.#rows = new ContentRows(database, bounds);
    this.#commits = new GroupCommit(database, () => this.#rows.rolledBack(), { wal });
    this.#collector = new ContentCollector(database, this.#rows, (work) => this.#write(work));
  }

  async put(bytes: Uint8Array, space?: string): Promise<Digest> {
    checkPiece(bytes, this.#bounds);
    if (space !== undefined) checkSpace(space);
    const digest = digestOf(bytes);
    // Its owner may change it while it waits.
    const piece = bytes.slice();
    await this.#write(() => {
      this.#rows.put(digest, piece, space);
      this.#collector.touched(digest);
    });
    return digest;
  }

  get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#read(() => this.#rows.get(digest));
  }

  has(digest: Digest): Promise<boolean> {
    return this.#read(() => this.#rows.has(digest));
  }

  async label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    checkSpace(space);
    checkLabel(label);
    await this.#write(() => this.#rows.label(space, label, digest));
  }

  labelled(space: string, label: string): Promise<Digest | undefined> {
    return this.#read(() => this.#rows.labelled(space, label));
  }

  labels(space: string, limit: number, after = ""): Promise<readonly string[]> {
    return this.#read(() => this.#rows.labels(space, bounded(limit), after));
  }

  contents(space: string, limit: number, after = ""): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]> {
    return this.#read(() => this.#rows.contents(space, bounded(limit), after));
  }

  async collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    if (!this.#open) throw closed();
    return this.#collector.collect(live);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#commits.drained();
    await this.#close();
  }

  async #write<T>(work: () => T): Promise<T> {
    if (!this.#open) throw closed();
    return this.#commits.add(work);
  }

  async #read<T>(work: () => T): Promise<T> {
    if (!this.#open) throw closed();
    try {
      const answer = work();
      // What was read may be on its way to the disk.
      await this.#wal.landing();
      return answer;
    } catch (error) {
      throw storeFault(error);
    }
  }
}
