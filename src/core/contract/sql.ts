// Owns: the interface through which operators query a store with SQL, and its refusals. Does not own: the views (core/store/sql), or
// running a query (bridges/sql).

import { type SqlCode, TroupeError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { CancelSignal } from "./time.ts";

/** A column of a view that queries may read. */
export interface SqlColumn {
  readonly name: string;
  /** `json`: a text that SQLite's JSON functions read. `time`: milliseconds since 1970. */
  readonly type: "text" | "integer" | "time" | "boolean" | "json" | "any";
  readonly what?: string;
}

/** A table that queries may read. Views are stable: what they are made of may change. */
export interface SqlView {
  readonly name: string;
  readonly what: string;
  readonly columns: readonly SqlColumn[];
}

/** A query over the views of a store. */
export interface SqlQuery {
  /** One SELECT, in SQLite's dialect. */
  readonly sql: string;
  /** At most so many rows, from 1 to 1,000. Default 1,000. */
  readonly limit?: number;
}

/** The rows of a query. Bounded: `cut` says by what. */
export interface SqlResult {
  readonly columns: readonly string[];
  /** Values are numbers, texts and null. An integer that no double holds is a text, and a blob is `x'…'`. */
  readonly rows: readonly (readonly Json[])[];
  /** How long it ran. */
  readonly ms: number;
  /** There are more rows, left out because of their number or their size. */
  readonly cut?: "rows" | "size";
  /** So many texts were shortened, since they are long. */
  readonly shortened?: number;
}

/** SQL over a store. `sqliteSql` makes it for a store on SQLite. */
export interface Sql {
  /** What can be read: fixed views, and one for each index. */
  views(): Promise<readonly SqlView[]>;
  /** Rejects with `SqlError`. Ends when `signal` aborts. */
  query(query: SqlQuery, signal?: CancelSignal): Promise<SqlResult>;
}

/**
 * A query that was not answered.
 *
 * | code | |
 * |---|---|
 * | SQL_WRONG | SQLite cannot run the query: its syntax, a name, a value |
 * | SQL_DENIED | it is no SELECT, or reads something other than the views |
 * | SQL_TIMEOUT | it ran for too long |
 * | SQL_MEMORY | it needed too much memory |
 * | SQL_BUSY | another query runs |
 * | SQL_CANCELLED | its caller has left |
 */
export class SqlError extends TroupeError<SqlCode> {
  override readonly name = "SqlError";
  /** Where in the query, as an offset in UTF-16 code units. Undefined: not known. */
  readonly at?: number;

  constructor(code: SqlCode, message: string, at?: number) {
    super(code, message);
    if (at !== undefined) this.at = at;
  }
}
