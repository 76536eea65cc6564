import type { DatabaseSync } from "node:sqlite";
import { Finder } from "./find.ts";
import { openIndex } from "./index-file.ts";
import { Rows } from "./rows.ts";

/** The file and what reads and writes it: thrown away and made anew together. */
export class SearchIndex {
  readonly #file: string;
  readonly #purpose: string;
  readonly #kinds: readonly string[];
  #open: { readonly database: DatabaseSync; readonly rows: Rows; readonly finder: Finder } | undefined;

  /** `purpose`: an index made for another one is made anew. Throws `StoreError`. */
  constructor(file: string, purpose: string, kinds: readonly string[]) {
    this.#file = file;
    this.#purpose = purpose;
    this.#kinds = kinds;
    this.#open = this.#opened(false);
  }

  /** Undefined: it is closed, or could not be made anew so far. */
  get rows(): Rows | undefined {
    return this.#open?.rows;
  }

  get finder(): Finder | undefined {
    return this.#open?.finder;
  }

  /** Empty again, whatever is in it. Throws `StoreError`: then there is none until this is called again. */
  renew(): void {
    this.close();
    this.#open = this.#opened(true);
  }

  /** What was taken out is in the log no more either. */
  clean(): void {
    this.#open?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.database.close();
  }

  #opened(anew: boolean): { readonly database: DatabaseSync; readonly rows: Rows; readonly finder: Finder } {
    const database = openIndex(this.#file, this.#purpose, anew);
    try {
      return { database, rows: new Rows(database, this.#kinds), finder: new Finder(database, this.#kinds) };
    } catch (error) {
      database.close();
      throw error;
    }
  }
}
