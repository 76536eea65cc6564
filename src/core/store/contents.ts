// Owns: contents and their labels on one SQLite file. Does not own: what their names and sizes may be (rules.ts).
//
// C2: `put` and `label` settle when their batch is on disk. What is read is hashed again.

import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { DatabaseSync } from "node:sqlite";
import { checkOptions, type Closable, type Collected, type ContentStore, type Digest, FUNCTION } from "../contract/index.ts";
import { migrate } from "./database.ts";
import { damaged, storeFault } from "./store-errors.ts";
import { int, text } from "./columns.ts";
import { GroupCommit } from "./group-commit.ts";
import { type LockedFile, openLockedFile } from "./open-store.ts";
import {
  absent,
  boundedLimit,
  checkLabel,
  checkPiece,
  checkSpace,
  checkTotal,
  closed,
  CONTENT_BOUNDS,
  type ContentBounds,
  digestOf,
  PIECE_BYTES,
} from "./rules.ts";
import type { SqliteOptions } from "./sqlite.ts";

/** "TrpC" */
const APPLICATION = 0x54_72_70_43;

/** One script per version; a released script is never changed. `meta` is for group commit. */
const SCHEMA: readonly string[] = [
  `
  CREATE TABLE piece(id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, bytes BLOB NOT NULL);
  CREATE TABLE place(space TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY(space, digest)) WITHOUT ROWID;
  CREATE INDEX place_digest ON place(digest);
  CREATE TABLE label(space TEXT NOT NULL, label TEXT NOT NULL, digest TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY(space, label)) WITHOUT ROWID;
  CREATE INDEX label_digest ON label(digest);
  CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta VALUES('indexed', 0);
  `,
];

/** Pieces that one transaction of a collection marks or looks at; other writes wait no longer than it takes. */
const CHUNK = 256;

/**
 * Opens the file at `path`, created with its directory where absent, and takes its lock. Throws `StoreError`: `STORE_LOCKED`,
 * `STORE_NEWER`, `STORE_CORRUPT`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_IO`.
 */
export function sqliteContents(
  path: string,
  options: Partial<ContentBounds> & Pick<SqliteOptions, "onLostLog" | "onCheckpoint"> = {},
): ContentStore & Closable {
  // The hooks of a store are those of its contents, too (log-hooks.ts). These find no damage while no caller waits.
  checkOptions("sqliteContents", options, { ...CONTENT_BOUNDS, onLostLog: FUNCTION, onCheckpoint: FUNCTION }, ["onDamage"]);
  const bounds = { pieceBytes: PIECE_BYTES, totalBytes: Number.POSITIVE_INFINITY, ...options };
  return openLockedFile(
    path,
    dirname(path),
    (file) => {
      migrate(file.database, APPLICATION, SCHEMA);
      return new SqliteContents(file, bounds);
    },
    options,
  );
}

class SqliteContents implements ContentStore, Closable {
  readonly #file: LockedFile;
  readonly #bounds: ContentBounds;
  readonly #commits: GroupCommit;
  readonly #pieces: Pieces;
  #collecting = false;
  #lastCollection: Promise<unknown> = Promise.resolve();
  #open = true;

  constructor(file: LockedFile, bounds: ContentBounds) {
    this.#file = file;
    this.#bounds = bounds;
    this.#pieces = new Pieces(file.database, bounds);
    this.#commits = new GroupCommit(file.database, () => this.#pieces.rolledBack(), { wal: file.wal });
  }

  async put(bytes: Uint8Array, space?: string): Promise<Digest> {
    checkPiece(bytes, this.#bounds);
    if (space !== undefined) checkSpace(space);
    const digest = digestOf(bytes);
    // Copied, since the caller may change it before it is written.
    const piece = bytes.slice();
    await this.#write(() => {
      this.#pieces.put(digest, piece, space);
      // A collection in progress must not drop it, even if it was there before.
      if (this.#collecting) this.#pieces.mark([digest]);
    });
    return digest;
  }

  get(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#read(() => this.#pieces.get(digest));
  }

  has(digest: Digest): Promise<boolean> {
    return this.#read(() => this.#pieces.has(digest));
  }

  async label(space: string, label: string, digest: Digest | undefined): Promise<void> {
    checkSpace(space);
    checkLabel(label);
    await this.#write(() => this.#pieces.label(space, label, digest));
  }

  labelled(space: string, label: string): Promise<Digest | undefined> {
    return this.#read(() => this.#pieces.labelled(space, label));
  }

  labels(space: string, limit: number, after = ""): Promise<readonly string[]> {
    return this.#read(() => this.#pieces.labels(space, boundedLimit(limit), after));
  }

  contents(space: string, limit: number, after = ""): Promise<readonly { readonly digest: Digest; readonly bytes: number }[]> {
    return this.#read(() => this.#pieces.contents(space, boundedLimit(limit), after));
  }

  /** One collection at a time. */
  async collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    if (!this.#open) throw closed("content store");
    const collected = this.#lastCollection.then(() => this.#collect(live));
    this.#lastCollection = collected.catch(() => undefined);
    return await collected;
  }

  /**
   * Mark and sweep, while others write: what is put meanwhile is marked as well, and whether a label names a piece is checked in the
   * transaction that would drop it.
   */
  async #collect(live: AsyncIterable<Digest> | Iterable<Digest>): Promise<Collected> {
    await this.#write(() => {
      this.#pieces.unmarkAll();
      this.#collecting = true;
    });
    try {
      let batch: Digest[] = [];
      const mark = async (): Promise<void> => {
        const digests = batch;
        batch = [];
        await this.#write(() => this.#pieces.mark(digests));
      };
      for await (const digest of live) if (batch.push(digest) >= CHUNK) await mark();
      await mark();
      let dropped = 0;
      let bytes = 0;
      for (let after: Digest | undefined = ""; after !== undefined;) {
        const from: Digest = after;
        const swept = await this.#write(() => this.#pieces.sweep(from));
        dropped += swept.dropped;
        bytes += swept.bytes;
        after = swept.next;
      }
      return { kept: await this.#write(() => this.#pieces.count()), dropped, bytes };
    } finally {
      this.#collecting = false;
    }
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#commits.drained();
    await this.#file.close();
  }

  async #write<T>(work: () => T): Promise<T> {
    if (!this.#open) throw closed("content store");
    return this.#commits.add(work);
  }

  async #read<T>(work: () => T): Promise<T> {
    if (!this.#open) throw closed("content store");
    try {
      const answer = work();
      // What was read may not be on disk yet.
      await this.#file.wal.pending();
      return answer;
    } catch (error) {
      throw storeFault(error);
    }
  }
}

const sumOf = (space: string, label: string, digest: Digest): number => crc32(`${space}\0${label}\0${digest}`);

const statements = (database: DatabaseSync) => ({
  insert: database.prepare("INSERT INTO piece(digest, size, bytes) VALUES(?,?,?)"),
  bytes: database.prepare("SELECT bytes FROM piece WHERE digest = ?"),
  has: database.prepare("SELECT 1 FROM piece WHERE digest = ?"),
  count: database.prepare("SELECT count(*) AS n FROM piece"),
  delete: database.prepare("DELETE FROM piece WHERE digest = ? RETURNING size"),
  total: database.prepare("SELECT coalesce(sum(size), 0) AS total FROM piece"),
  place: database.prepare("INSERT INTO place VALUES(?,?) ON CONFLICT DO NOTHING"),
  unplace: database.prepare("DELETE FROM place WHERE digest = ?"),
  contents: database.prepare(
    "SELECT digest, size FROM place JOIN piece USING(digest) WHERE space = ? AND digest > ? ORDER BY digest LIMIT ?",
  ),
  setLabel: database.prepare(
    "INSERT INTO label VALUES(?,?,?,?) ON CONFLICT(space, label) DO UPDATE SET digest = excluded.digest, sum = excluded.sum",
  ),
  unlabel: database.prepare("DELETE FROM label WHERE space = ? AND label = ?"),
  label: database.prepare("SELECT digest, sum FROM label WHERE space = ? AND label = ?"),
  labels: database.prepare("SELECT label, digest, sum FROM label WHERE space = ? AND label > ? ORDER BY label LIMIT ?"),
  mark: database.prepare("INSERT INTO live VALUES(?) ON CONFLICT DO NOTHING"),
  next: database.prepare(
    `SELECT digest, EXISTS(SELECT 1 FROM live WHERE live.digest = piece.digest) OR EXISTS(SELECT 1 FROM label WHERE label.digest = piece.digest) AS used
     FROM piece WHERE digest > ? ORDER BY digest LIMIT ${CHUNK}`,
  ),
});

/** The tables. All synchronous: writes run in the caller's transaction. */
class Pieces {
  readonly #database: DatabaseSync;
  readonly #bounds: ContentBounds;
  readonly #sql: ReturnType<typeof statements>;
  /** Of all pieces. Undefined: to be summed again. */
  #totalBytes: number | undefined;

  constructor(database: DatabaseSync, bounds: ContentBounds) {
    this.#database = database;
    this.#bounds = bounds;
    // The marks of a collection are in a temporary table, so that their number is not bounded by memory.
    database.exec("CREATE TEMP TABLE live(digest TEXT PRIMARY KEY) WITHOUT ROWID");
    this.#sql = statements(database);
  }

  put(digest: Digest, bytes: Uint8Array, space: string | undefined): void {
    if (!this.has(digest)) {
      const total = this.#storedBytes() + bytes.length;
      checkTotal(total, this.#bounds);
      this.#sql.insert.run(digest, bytes.length, bytes);
      this.#totalBytes = total;
    }
    if (space !== undefined) this.#sql.place.run(space, digest);
  }

  get(digest: Digest): Uint8Array | undefined {
    const bytes = this.#sql.bytes.get(digest)?.["bytes"];
    if (bytes === undefined) return undefined;
    if (bytes instanceof Uint8Array && digestOf(bytes) === digest) return bytes;
    throw damaged(`the content ${digest} is not what was put`);
  }

  has(digest: Digest): boolean {
    return this.#sql.has.get(digest) !== undefined;
  }

  count(): number {
    return int(this.#sql.count.get()?.["n"]);
  }

  contents(space: string, limit: number, after: Digest): readonly { readonly digest: Digest; readonly bytes: number }[] {
    return this.#sql.contents.all(space, after, limit).map((columns) => ({ digest: text(columns["digest"]), bytes: int(columns["size"]) }));
  }

  label(space: string, label: string, digest: Digest | undefined): void {
    if (digest === undefined) this.#sql.unlabel.run(space, label);
    else if (this.has(digest)) this.#sql.setLabel.run(space, label, digest, sumOf(space, label, digest));
    else throw absent(digest);
  }

  labelled(space: string, label: string): Digest | undefined {
    const columns = this.#sql.label.get(space, label);
    return columns && labelledIn(space, label, columns);
  }

  labels(space: string, limit: number, after: string): readonly string[] {
    return this.#sql.labels.all(space, after, limit).map((columns) => {
      const label = text(columns["label"]);
      labelledIn(space, label, columns);
      return label;
    });
  }

  unmarkAll(): void {
    this.#database.exec("DELETE FROM live");
  }

  mark(digests: readonly Digest[]): void {
    for (const digest of digests) this.#sql.mark.run(digest);
  }

  /** Drops the pieces of a chunk that are neither marked nor labelled. `next`: where the next chunk begins; undefined: there is none. */
  sweep(after: Digest): { readonly dropped: number; readonly bytes: number; readonly next: Digest | undefined } {
    const rows = this.#sql.next.all(after);
    let dropped = 0;
    let bytes = 0;
    for (const columns of rows) {
      if (columns["used"] !== 0) continue;
      bytes += this.#drop(text(columns["digest"]));
      dropped += 1;
    }
    return { dropped, bytes, next: rows.length < CHUNK ? undefined : text(rows.at(-1)?.["digest"]) };
  }

  /** Returns the size of the piece. */
  #drop(digest: Digest): number {
    const size = int(this.#sql.delete.get(digest)?.["size"]);
    this.#sql.unplace.run(digest);
    if (this.#totalBytes !== undefined) this.#totalBytes -= size;
    return size;
  }

  rolledBack(): void {
    this.#totalBytes = undefined;
  }

  /** Summed over the table once; not at all where there is no bound. */
  #storedBytes(): number {
    if (this.#bounds.totalBytes === Number.POSITIVE_INFINITY) return 0;
    this.#totalBytes ??= int(this.#sql.total.get()?.["total"]);
    return this.#totalBytes;
  }
}

/** The digest that a label names. Throws `STORE_CORRUPT` where the label was changed in the file. */
function labelledIn(space: string, label: string, columns: Readonly<Record<string, unknown>>): Digest {
  const digest = text(columns["digest"]);
  if (columns["sum"] !== sumOf(space, label, digest)) throw damaged(`the label ${label} is not what was written`);
  return digest;
}
