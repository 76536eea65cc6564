// Owns: the words of an index with full text, in a table of SQLite's FTS5, and how conditions on rows are written. Does not own: the rows
// and which condition is used to find them (index-tables.ts), how texts are split into words (core/contract).

import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { containedIn, ftsQuery, type SearchTerm } from "../contract/internal.ts";
import { text } from "./columns.ts";

/** A condition in SQL. */
export interface Term {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  /** The SQL index that finds its rows. */
  readonly index?: string | undefined;
  /** Its rows are those of one value, or of several, so the SQL index has them in order. */
  readonly isPoint?: boolean;
  /** It is on the column that orders the rows, which is in each SQL index. */
  readonly isOrder?: boolean;
}

/** The words of the actors of one index, in a table of FTS5. */
export class WordTable {
  readonly #database: DatabaseSync;
  readonly #name: string;
  readonly #put: StatementSync;
  readonly #delete: StatementSync;
  readonly #get: StatementSync;

  constructor(database: DatabaseSync, name: string) {
    this.#database = database;
    this.#name = name;
    if (!isThere(database, name)) this.#create();
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${name}(rowid, text) VALUES(?, ?)`);
    this.#delete = database.prepare(`DELETE FROM ${name} WHERE rowid = ?`);
    this.#get = database.prepare(`SELECT text FROM ${name} WHERE rowid = ?`);
  }

  /** The words are split already. They are stored in the table, too, so that FTS5 can delete them: `secure-delete` leaves none in the file. */
  #create(): void {
    this.#database.exec(
      `CREATE VIRTUAL TABLE ${this.#name} USING fts5(text, tokenize='ascii', columnsize=0);
       INSERT INTO ${this.#name}(${this.#name}, rank) VALUES('secure-delete', 1)`,
    );
  }

  drop(): void {
    this.#database.exec(`DROP TABLE ${this.#name}`);
  }

  /** Deleting its rows would take each word out by itself. */
  clear(): void {
    this.drop();
    this.#create();
  }

  get(pk: number): string {
    const found = this.#get.get(pk);
    return found === undefined ? "" : text(found["text"]);
  }

  set(pk: number, words: string | undefined): void {
    if (words === undefined || words === "") this.#delete.run(pk);
    else this.#put.run(pk, words);
  }

  search(terms: readonly SearchTerm[]): Search {
    const contained = terms.map(() => "instr(text, ?) > 0").join(" AND ");
    return {
      words: this.#name,
      matches: { sql: `${this.#name} MATCH ?`, values: [ftsQuery(terms)] },
      contains: { sql: `(SELECT ${contained} FROM ${this.#name} WHERE rowid = actor)`, values: terms.map(containedIn) },
    };
  }
}

export const isThere = (database: DatabaseSync, table: string): boolean =>
  database.prepare("SELECT 1 FROM sqlite_master WHERE name = ?").get(table) !== undefined;

/** A search for words, as a condition on the table of words, and as one on a row. */
export interface Search {
  readonly words: string;
  readonly matches: Term;
  readonly contains: Term;
}
