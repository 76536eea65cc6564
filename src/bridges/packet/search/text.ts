/** Stands before each field's text in what is indexed, as a word of its own: no phrase reaches over it. Its number says which field. */
const FIRST_MARK = 0xe000;
/** Private-use characters come from nobody else: they are taken out of texts. */
const RESERVED = /[\0\u{e000}-\u{f8ff}]/gu;
const MARKS = /([\u{e000}-\u{f8ff}])/u;

/** Written without spaces between words. The tokenizer would take a whole sentence for one word, so each character is one. */
const UNSPACED = "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}";
const EACH_UNSPACED = new RegExp(`[${UNSPACED}]`, "gu");
const WORD = new RegExp(`[${UNSPACED}]|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, "gu");

/** As it is kept and shown: one form for what looks alike, nothing that is ours. */
export const clean = (text: string): string => text.toWellFormed().normalize("NFC").replace(RESERVED, " ");

/**
 * What makes no difference: case, accents, width, how a letter is composed. SQLite's own folding ends with Latin; its tokenizer
 * gets this.
 */
export const fold = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/gu, "")
    .normalize("NFC")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ");

/** Folded, as the tokenizer gets it. */
export const spread = (folded: string): string => folded.replace(EACH_UNSPACED, "$&\u200b");

export interface Word {
  readonly text: string;
  /** Where in the text it begins. */
  readonly at: number;
}

/** Folded, in order. Near enough to show where a match is; what matches is SQLite's to say. */
export function* wordsOf(text: string): Generator<Word, void, undefined> {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const folded = fold(word);
    if (folded !== "") yield { text: folded, at: index };
  }
}

/** At most `length` UTF-16 units, no half characters. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** The texts of an event's fields as one. */
export const joined = (fields: readonly Marked[]): string =>
  fields.map(({ field, text }) => `${String.fromCharCode(FIRST_MARK + field)} ${text}`).join(" ");

/** A field by its number, and its text. */
export interface Marked {
  readonly field: number;
  readonly text: string;
}

/** The other way round. */
export function parted(text: string): readonly Marked[] {
  const parts = text.split(MARKS);
  const fields: Marked[] = [];
  for (let n = 1; n + 1 < parts.length; n += 2)
    fields.push({ field: (parts[n] ?? "").charCodeAt(0) - FIRST_MARK, text: (parts[n + 1] ?? "").trim() });
  return fields;
}
