/** Stands before each field's text in what is indexed, as a word of its own: no phrase reaches over it. Its number says which field. */
const FIRST_MARK = 0xe000;
/** Private-use characters, which `cleanText` takes out of texts. */
const MARKS = /([\u{e000}-\u{f8ff}])/u;

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
