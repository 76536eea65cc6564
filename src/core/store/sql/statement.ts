// Owns: one statement of a query's text: that it is one, that it reads, and where it is wrong. Does not own: what it may read (access.ts).

import { SqlError } from "../../contract/index.ts";

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
