import type { DatabaseSync, StatementSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Digest } from "../contract/index.ts";
import { damaged, int, text } from "./column.ts";
import { absent, checkTotal, digestOf, type ContentBounds } from "./content-bounds.ts";

const sumOf = (space: string, label: string, digest: Digest): number => crc32(`${space}\0${label}\0${digest}`);

/** The tables of a content store. All of it synchronous: writes run inside a transaction of whoever calls. */
export class ContentRows {
  readonly #bounds: ContentBounds;
  readonly #insert: StatementSync;
  readonly #place: StatementSync;
  readonly #bytes: StatementSync;
  readonly #has: StatementSync;
  readonly #setLabel: StatementSync;
  readonly #unlabel: StatementSync;
  readonly #label: StatementSync;
  readonly #labels: StatementSync;
  readonly #contents: StatementSync;
  readonly #sum: StatementSync;
  readonly #drop: StatementSync;
  readonly #unplace: StatementSync;
  #total: number | undefined;

  constructor(database: DatabaseSync, bounds: ContentBounds) {
    this.#bounds = bounds;
    this.#insert = database.prepare("INSERT INTO piece(digest, size, bytes) VALUES(?,?,?)");
    this.#place = database.prepare("INSERT INTO place VALUES(?,?) ON CONFLICT DO NOTHING");
    this.#bytes = database.prepare("SELECT bytes FROM piece WHERE digest = ?");
    this.#has = database.prepare("SELECT 1 FROM piece WHERE digest = ?");
    this.#setLabel = database.prepare(
      "INSERT INTO label VALUES(?,?,?,?) ON CONFLICT(space, label) DO UPDATE SET digest = excluded.digest, sum = excluded.sum",
    );
    this.#unlabel = database.prepare("DELETE FROM label WHERE space = ? AND label = ?");
    this.#label = database.prepare("SELECT digest, sum FROM label WHERE space = ? AND label = ?");
    this.#labels = database.prepare("SELECT label, digest, sum FROM label WHERE space = ? AND label > ? ORDER BY label LIMIT ?");
    this.#contents = database.prepare(
      "SELECT digest, size FROM place JOIN piece USING(digest) WHERE space = ? AND digest > ? ORDER BY digest LIMIT ?",
    );
    this.#sum = database.prepare("SELECT coalesce(sum(size), 0) AS total FROM piece");
    this.#drop = database.prepare("DELETE FROM piece WHERE digest = ? RETURNING size");
    this.#unplace = database.prepare("DELETE FROM place WHERE digest = ?");
  }

  put(digest: Digest, bytes: Uint8Array, space: string | undefined): void {
    if (!this.has(digest)) {
      const total = this.#bytesKept() + bytes.length;
      checkTotal(total, this.#bounds);
      this.#insert.run(digest, bytes.length, bytes);
      this.#total = total;
    }
    if (space !== undefined) this.#place.run(space, digest);
  }

  get(digest: Digest): Uint8Array | undefined {
    const bytes = this.#bytes.get(digest)?.["bytes"];
    if (bytes === undefined) return undefined;
    if (bytes instanceof Uint8Array && digestOf(bytes) === digest) return bytes;
    throw damaged(`the content ${digest} is not what was put`);
  }

  has(digest: Digest): boolean {
    return this.#has.get(digest) !== undefined;
  }

  label(space: string, label: string, digest: Digest | undefined): void {
    if (digest === undefined) this.#unlabel.run(space, label);
    else if (this.has(digest)) this.#setLabel.run(space, label, digest, sumOf(space, label, digest));
    else throw absent(digest);
  }

  labelled(space: string, label: string): Digest | undefined {
    const columns = this.#label.get(space, label);
    return columns && whole(space, label, columns);
  }

  labels(space: string, limit: number, after: string): readonly string[] {
    return this.#labels.all(space, after, limit).map((columns) => {
      const label = text(columns["label"]);
      whole(space, label, columns);
      return label;
    });
  }

  contents(space: string, limit: number, after: Digest): readonly { readonly digest: Digest; readonly bytes: number }[] {
    return this.#contents.all(space, after, limit).map((columns) => ({ digest: text(columns["digest"]), bytes: int(columns["size"]) }));
  }

  /** How many bytes went. */
  drop(digest: Digest): number {
    const size = int(this.#drop.get(digest)?.["size"]);
    this.#unplace.run(digest);
    if (this.#total !== undefined) this.#total -= size;
    return size;
  }

  rolledBack(): void {
    this.#total = undefined;
  }

  /** Summed over the table once; nothing where there is no bound to hold. */
  #bytesKept(): number {
    if (this.#bounds.totalBytes === Number.POSITIVE_INFINITY) return 0;
    this.#total ??= int(this.#sum.get()?.["total"]);
    return this.#total;
  }
}

function whole(space: string, label: string, columns: Readonly<Record<string, unknown>>): Digest {
  const digest = text(columns["digest"]);
  if (columns["sum"] !== sumOf(space, label, digest)) throw damaged(`the label ${label} is not what was written`);
  return digest;
}
