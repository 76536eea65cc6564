import { cutText, type PlacedWord, placedWords, type SearchTerm } from "../../../core/contract/internal.ts";
import type { Marked } from "./text.ts";

export interface Shown {
  readonly field: number;
  readonly snippet: string;
}

/** Of a snippet, before the match. */
const LEAD = 1 / 4;

/** The field with most of what was looked for, and its text around the first match, on one line. */
export function snippetOf(fields: readonly Marked[], terms: readonly SearchTerm[], length: number): Shown {
  let best: { readonly one: Marked; readonly found: number; readonly at: number } | undefined;
  for (const one of fields) {
    const words = [...placedWords(one.text)];
    const places = terms.map((term) => placeOf(words, term)).filter((place) => place !== undefined);
    if (best === undefined || places.length > best.found)
      best = { one, found: places.length, at: places.length === 0 ? 0 : Math.min(...places) };
  }
  return best === undefined ? { field: -1, snippet: "" } : { field: best.one.field, snippet: around(best.one.text, best.at, length) };
}

function placeOf(words: readonly PlacedWord[], { words: wanted, isPrefix }: SearchTerm): number | undefined {
  const last = wanted.length - 1;
  for (let start = 0; start + last < words.length; start += 1)
    if (wanted.every((word, n) => fits(words[start + n]?.text ?? "", word, isPrefix && n === last))) return words[start]?.at;
  return undefined;
}

const fits = (word: string, wanted: string, prefix: boolean): boolean => (prefix ? word.startsWith(wanted) : word === wanted);

function around(text: string, at: number, length: number): string {
  let start = Math.max(0, Math.min(at - Math.floor(length * LEAD), text.length - length));
  if (start > 0) {
    // From the next word on, and never within a character.
    const space = text.slice(start, at).search(/\s/u);
    start = space >= 0 ? start + space : at;
  }
  const end = cutText(text.slice(start), length);
  const cutOff = start + end.length < text.length;
  return `${start > 0 ? "…" : ""}${end.replace(/\s+/gu, " ").trim()}${cutOff ? "…" : ""}`;
}
