// Owns: words of texts for full-text search: what makes no difference between two words, and what a query means. Does not own: finding
// them (stores).
//
// Stores get words that are split and folded already, separated by spaces. So all stores find the same, whichever Unicode tables they have,
// and a query has no syntax but the one here.

import { EngineError } from "./errors.ts";

/** Words that follow each other. */
export interface SearchTerm {
  /** Folded; letters, digits and marks only. At least one. */
  readonly words: readonly string[];
  /** The last word is only how a word begins. */
  readonly isPrefix: boolean;
}

/** The limits of queries. Each word costs a walk over all texts that have it. */
const MAX_QUERY = 512;
const MAX_TERMS = 16;
const MAX_WORDS = 32;
const MIN_PREFIX = 3;
/** A longer word is cut. */
const MAX_WORD = 128;

/** Between two texts of one actor, as a word of its own, so that no phrase reaches from one to the other. */
const SEPARATOR = "\u{e000}";
/** Private-use characters, of which the separator is one. */
const RESERVED = /[\0\u{e000}-\u{f8ff}]/gu;

/** Scripts without spaces between words: each character counts as a word. */
const UNSPACED = "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}";
const IN_WORDS = "[\\p{L}\\p{N}\\p{M}]";
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
// These scripts have punctuation and symbols too, which are no words.
const WORD = new RegExp(`(?=${IN_WORDS})[${UNSPACED}]|(?:(?![${UNSPACED}])${IN_WORDS})+`, "gu");
const TERM = /"([^"]*)"(\*?)|([^\s"]+)/gu;

/** One form for what looks alike, without reserved characters. */
export const cleanText = (text: string): string => text.toWellFormed().normalize("NFC").replace(RESERVED, " ");

/** Without what makes no difference: case, accents, width, how a letter is composed. */
const fold = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/gu, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ");

/** At most `length` UTF-16 units, and no half of a surrogate pair. */
export const cutText = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/u, "");

const wordsOf = (folded: string): readonly string[] => (folded.match(WORD) ?? []).map((word) => cutText(word, MAX_WORD));

/** A word, and where in its text it begins. */
export interface PlacedWord {
  readonly text: string;
  readonly at: number;
}

/** The folded words of a text, in order, to show where a match is. What matches is decided by `searchableText`. */
export function* placedWords(text: string): Generator<PlacedWord, void, undefined> {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const folded = fold(word);
    if (folded !== "") yield { text: cutText(folded, MAX_WORD), at: index };
  }
}

/** The words of these texts as stores search them: with a space around each, and a word between two texts that no query has. */
export function searchableText(texts: readonly string[]): string {
  const words = texts.map((text) => wordsOf(fold(cleanText(text)))).filter((list) => list.length > 0);
  return words.length === 0 ? "" : ` ${words.map((list) => list.join(" ")).join(` ${SEPARATOR} `)} `;
}

const bad = (message: string): EngineError => new EngineError("BAD_QUERY", message);

/**
 * Words and "phrases", all of which a text must have; `word*` for how a word begins. There are no other operators. Throws `BAD_QUERY`,
 * which says what to write instead.
 */
export function searchTerms(query: string): readonly SearchTerm[] {
  if (query.length > MAX_QUERY)
    throw bad(`The text has ${query.length} characters, at most ${MAX_QUERY} are taken: search for fewer words.`);
  const text = fold(cleanText(query));
  if ((text.split('"').length - 1) % 2 === 1) throw bad('A quote (") has no other one: close the phrase, or leave the quote out.');
  const terms = new Map<string, SearchTerm>();
  for (const [, phrase, star = "", word = ""] of text.matchAll(TERM)) {
    const words = wordsOf(phrase ?? word);
    if (words.length === 0) continue;
    const isPrefix = isPrefixOf(words.at(-1) ?? "", phrase === undefined ? word.endsWith("*") : star !== "");
    terms.set(`${words.join(" ")}${isPrefix ? "*" : ""}`, { words, isPrefix });
  }
  if (terms.size === 0) throw bad("The text names nothing to look for: write at least one word.");
  if (terms.size > MAX_TERMS) throw bad(`The text has ${terms.size} terms, at most ${MAX_TERMS} are taken: search for fewer words.`);
  const list = [...terms.values()];
  const count = list.reduce((sum, { words }) => sum + words.length, 0);
  if (count > MAX_WORDS) throw bad(`The text has ${count} words, at most ${MAX_WORDS} are taken: search for fewer words.`);
  return list;
}

function isPrefixOf(last: string, isRequested: boolean): boolean {
  // A character that is a word by itself has no longer form.
  if (!isRequested || IS_UNSPACED.test(last)) return false;
  if (Array.from(last).length >= MIN_PREFIX) return true;
  throw bad(`"${last}*" is too short: write at least ${MIN_PREFIX} letters before the star, or the whole word.`);
}

/** Terms as an expression of SQLite's FTS5. Words have no characters that are syntax. */
export const ftsQuery = (terms: readonly SearchTerm[]): string =>
  terms.map(({ words, isPrefix }) => `"${words.join(" ")}"${isPrefix ? " *" : ""}`).join(" AND ");

/** What the text of `searchableText` contains where a term matches. */
export const containedIn = ({ words, isPrefix }: SearchTerm): string => ` ${words.join(" ")}${isPrefix ? "" : " "}`;
