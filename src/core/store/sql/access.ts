// Owns: what a query may be and do: one statement that reads the views, and calls functions that compute; and where it is wrong. SQLite
// asks here about each name in a statement while it prepares it. Does not own: the views.
//
// The tables below the views may be read within a view only. SQLite tells which view a name stands in by its name alone, and a query can
// name a part of itself like a view: WITH actors AS (SELECT * FROM actor) …. So each view reads through a second one with a random name.

import { constants } from "node:sqlite";
import { SqlError } from "../../contract/index.ts";

// What computes. Left out: what reads files or tables (fts5, rtreecheck, geopoly …), loads code, or is made to allocate (zeroblob).
const FUNCTIONS = new Set(
  `-> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count cume_dist
  current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format glob group_concat hex if ifnull
  iif instr json json_array json_array_insert json_array_length json_error_position json_extract json_group_array json_group_object json_insert
  json_object json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid julianday lag last_value lead length
  like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank percentile
  percentile_cont percentile_disc pi pow power printf quote radians random rank replace round row_number rtrim sign sin sinh sqrt
  sqlite_version strftime string_agg substr substring subtype sum tan tanh time timediff total trim trunc typeof unhex unicode unistr
  unistr_quote unixepoch unlikely upper`.split(/\s+/),
);

/** Tables that a value is made into. */
const VALUES = new Set(["json_each", "json_tree"]);

export interface ReadableNames {
  /** The views that queries name. */
  readonly views: ReadonlySet<string>;
  /** The views behind those. */
  readonly hidden: ReadonlySet<string>;
  /** The functions that views call. */
  readonly functions: ReadonlySet<string>;
  /** In lower case: every table and view of the files, and every module that makes a table. */
  readonly tables: ReadonlySet<string>;
}

/** `setAuthorizer`'s function, and why it refused. */
export class SqlAccess {
  readonly #names: ReadableNames;
  #refused: string | undefined;
  #trusted = 0;

  constructor(names: ReadableNames) {
    this.#names = names;
  }

  /** Runs the store's own statements, which SQLite may prepare again. */
  trusted<T>(run: () => T): T {
    this.#trusted += 1;
    try {
      return run();
    } finally {
      this.#trusted -= 1;
    }
  }

  /** Why the last statement was refused. Undefined: it was not. */
  takeRefusal(): SqlError | undefined {
    const why = this.#refused;
    this.#refused = undefined;
    return why === undefined ? undefined : new SqlError("SQL_DENIED", why);
  }

  authorize(action: number, first: string | null, second: string | null, database: string | null, within: string | null): number {
    if (this.#trusted > 0) return constants.SQLITE_OK;
    const why = this.#whyNot(action, first ?? "", second ?? "", database ?? "", within ?? "");
    if (why === undefined) return constants.SQLITE_OK;
    this.#refused ??= why;
    return constants.SQLITE_DENY;
  }

  #whyNot(action: number, first: string, second: string, database: string, within: string): string | undefined {
    switch (action) {
      case constants.SQLITE_SELECT:
      case constants.SQLITE_RECURSIVE:
        return undefined;
      case constants.SQLITE_READ:
        return this.#mayRead(first, second, database, within) ? undefined : this.#onlyViews(first);
      case constants.SQLITE_FUNCTION: {
        const { functions, hidden } = this.#names;
        if (FUNCTIONS.has(second.toLowerCase()) || (functions.has(second) && hidden.has(within))) return undefined;
        return `The function ${second.slice(0, 64)} is not available here.`;
      }
      default:
        return "Only SELECT is available here: queries read, and change nothing.";
    }
  }

  #mayRead(table: string, column: string, database: string, within: string): boolean {
    const { views, hidden, tables } = this.#names;
    if (hidden.has(within)) return true;
    if (database === "temp" && (views.has(table) || hidden.has(table))) return views.has(table) || views.has(within);
    if (VALUES.has(table)) return true;
    // SQLite also asks about names from which no value is read, as for count(*): a view, a table below one whose SELECT it has put in the
    // place of its name, or what the query itself names (WITH e AS …), which is then no table.
    if (column !== "" || /^(?:sqlite|pragma)_/i.test(table)) return false;
    return views.has(table) || FLATTENED.test(table) || !tables.has(table.toLowerCase());
  }

  #onlyViews(table: string): string {
    return `${table.slice(0, 64)} cannot be read: there are ${[...this.#names.views].slice(0, 40).join(", ")}.`;
  }
}

const FLATTENED = /^(?:actor|event|letter|outbox|session|session_fixed|subscription|task|index_rows_\d+)$/;

// ── the text of a query ─────────────────────────────────────────────────────

/** Comments, white space, strings and quoted names, words, numbers, and other signs. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\s+|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|`[^`]*`?|\[[^\]]*\]?|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|./gu;

interface Token {
  readonly text: string;
  readonly at: number;
}

const isSpace = (text: string): boolean => /^(?:\s|--|\/\*)/.test(text);

const tokensOf = (sql: string): readonly Token[] =>
  Array.from(sql.matchAll(TOKEN), ({ 0: text, index }) => ({ text, at: index })).filter(({ text }) => !isSpace(text));

const READS = new Set(["select", "with", "values", "explain"]);

/** Throws `SQL_WRONG`, `SQL_DENIED` unless the text is one statement that reads. */
export function checkStatement(sql: string): void {
  const tokens = tokensOf(sql);
  const [first] = tokens;
  if (first === undefined) throw new SqlError("SQL_WRONG", "There is no query: write a SELECT.", 0);
  const end = tokens.findIndex(({ text }) => text === ";");
  const rest = end === -1 ? undefined : tokens.slice(end).find(({ text }) => text !== ";");
  if (!READS.has(first.text.toLowerCase()))
    throw new SqlError("SQL_DENIED", "Only SELECT is available here: queries read, and change nothing.", first.at);
  if (rest !== undefined) throw new SqlError("SQL_WRONG", `Only one statement runs at a time: remove what follows the semicolon.`, rest.at);
}

/**
 * Where SQLite found an error, which it tells by quoting a token only. `failure` is the message for a text, or undefined: the parser stops
 * at the first wrong token, so the text up to there is refused with the same message, and one that ends before is not.
 */
export function errorPlace(sql: string, message: string, failure: (sql: string) => string | undefined): number | undefined {
  if (message === "incomplete input") return sql.trimEnd().length;
  const near = /^near "([\s\S]*)": syntax error/.exec(message)?.[1];
  const tokens = tokensOf(sql);
  if (near !== undefined)
    return tokens.filter(({ text }) => text === near).find(({ text, at }) => failure(sql.slice(0, at + text.length)) === message)?.at;
  const unknown =
    /^(?:no such (?:column|table|function)|ambiguous column name|unrecognized token|wrong number of arguments to function):? "?([^"()]+)/.exec(
      message,
    )?.[1];
  if (unknown === undefined) return undefined;
  const last = unknown.split(".").at(-1)?.trim().toLowerCase() ?? "";
  return tokens.find(({ text }) => plain(text) === last || (last !== "" && text.toLowerCase().startsWith(last)))?.at;
}

/** A name without its quotes. */
const plain = (text: string): string => text.replace(/^["`[]|["`\]]$/g, "").toLowerCase();

/** `line 2, column 5` */
export function placeText(sql: string, at: number): string {
  const lines = sql.slice(0, at).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}
