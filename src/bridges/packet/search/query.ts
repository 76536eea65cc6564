import { PacketError } from "../packet-error.ts";
import { clean, fold, spread, wordsOf } from "./text.ts";

/** What a user asked for, as SQLite is asked, and as a match is shown. */
export interface Query {
  /** An FTS5 expression of quoted terms only: nothing of the user's is syntax. */
  readonly match: string;
  readonly terms: readonly Term[];
}

/** Words, folded, that follow each other. */
export interface Term {
  readonly words: readonly string[];
  /** The last one is only how it begins. */
  readonly prefix: boolean;
}

const LONGEST = 512;
const MOST_TERMS = 16;
/** Each costs a walk over all texts it is in. */
const MOST_WORDS = 32;
const SHORTEST_PREFIX = 3;
const TERM = /"([^"]*)"(\*?)|([^\s"]+)/gu;
/**
 * Letters that SQLite's tables know for sure. It takes ones of a later Unicode for spaces, so that of a longer word a single
 * letter might be left: as a prefix that one costs more than all else together.
 */
const KNOWN =
  "(?:(?=[\\p{L}\\p{N}])[0-9A-Za-z\\u{c0}-\\u{24f}\\u{386}-\\u{3ff}\\u{400}-\\u{4ff}\\u{5d0}-\\u{5ea}\\u{620}-\\u{64a}\\u{ac00}-\\u{d7a3}])";
const KNOWN_END = new RegExp(`${KNOWN}{${SHORTEST_PREFIX},}$`, "u");
const COUNTED = new RegExp(`${KNOWN}+|[\\p{L}\\p{N}]`, "gu");

const bad = (message: string): PacketError => new PacketError("validation_failed", message, { issues: [{ field: "query", message }] });

/**
 * Words and "phrases", all of which a text must have; `word*` for how a word begins. There are no other operators. Throws
 * `PacketError` (`validation_failed`) that says what to write instead.
 */
export function readQuery(query: string): Query {
  if (query.length > LONGEST) throw bad(`The query has ${query.length} characters, at most ${LONGEST} are taken: search for fewer words.`);
  const text = fold(clean(query));
  if ((text.split('"').length - 1) % 2 === 1) throw bad('A quote (") has no other one: close the phrase, or leave the quote away.');
  const terms = new Map<string, Term>();
  for (const [, phrase, star = "", word = ""] of text.matchAll(TERM)) {
    const inner = phrase ?? word.replace(/\*+$/u, "");
    const words = [...wordsOf(inner)].map((one) => one.text);
    if (words.length === 0) continue;
    const prefix = isPrefix(inner, phrase === undefined ? word.endsWith("*") : star !== "");
    terms.set(`"${spread(inner)}"${prefix ? " *" : ""}`, { words, prefix });
  }
  if (terms.size === 0) throw bad("The query names nothing to look for: write at least one word.");
  if (terms.size > MOST_TERMS) throw bad(`The query has ${terms.size} terms, at most ${MOST_TERMS} are taken: search for fewer words.`);
  const count = text.match(COUNTED)?.length ?? 0;
  if (count > MOST_WORDS) throw bad(`The query has ${count} words, at most ${MOST_WORDS} are taken: search for fewer words.`);
  return { match: `{text} : (${[...terms.keys()].join(" AND ")})`, terms: [...terms.values()] };
}

function isPrefix(text: string, asked: boolean): boolean {
  // A character that is a word by itself has no longer form.
  if (!asked || spread(text).endsWith("\u200b")) return false;
  if (KNOWN_END.test(text.replace(/[^\p{L}\p{N}]+$/u, ""))) return true;
  throw bad(`"${text.slice(0, 40)}*" is too short: write at least ${SHORTEST_PREFIX} letters before the star, or the whole word.`);
}
