// Owns: the values of a result as JSON, and how much of it is returned. Does not own: running the query (database.ts).

import type { SQLOutputValue } from "node:sqlite";
import type { Json, SqlResult } from "../../contract/index.ts";
import { cutText } from "../../contract/internal.ts";

export const MAX_ROWS = 1_000;
/** In characters of JSON, about. */
const MAX_SIZE = 1_048_576;
/** A longer text is shortened. */
const MAX_TEXT = 65_536;
const MAX_BLOB = 64;
/** A value's comma, and what it takes besides its text. */
const EACH = 8;

/** Rows until there are enough. */
export class ResultRows {
  readonly rows: (readonly Json[])[] = [];
  readonly #limit: number;
  #size = 0;
  #shortened = 0;
  #cut: SqlResult["cut"];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: it was not added, and no more are. */
  add(values: readonly SQLOutputValue[]): boolean {
    if (this.rows.length >= this.#limit) {
      this.#cut = "rows";
      return false;
    }
    const shortenedBefore = this.#shortened;
    const row = values.map((value) => this.#valueOf(value));
    const size = row.reduce<number>((sum, value) => sum + EACH + (typeof value === "string" ? value.length : 0), 0);
    // One row always fits: otherwise a wide one could not be seen at all.
    if (this.rows.length > 0 && this.#size + size > MAX_SIZE) {
      this.#cut = "size";
      this.#shortened = shortenedBefore;
      return false;
    }
    this.#size += size;
    this.rows.push(row);
    return true;
  }

  get marks(): Pick<SqlResult, "cut" | "shortened"> {
    return { ...(this.#cut !== undefined && { cut: this.#cut }), ...(this.#shortened > 0 && { shortened: this.#shortened }) };
  }

  #valueOf(value: SQLOutputValue): Json {
    if (value === null) return null;
    if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (typeof value === "string") {
      if (value.length <= MAX_TEXT) return value;
      this.#shortened += 1;
      return `${cutText(value, MAX_TEXT)}…`;
    }
    if (value.length > MAX_BLOB) this.#shortened += 1;
    return `x'${Buffer.from(value.subarray(0, MAX_BLOB)).toString("hex")}${value.length > MAX_BLOB ? "…" : ""}'`;
  }
}
