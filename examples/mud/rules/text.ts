/** Sanitises another player's text into one line: no control, format or private characters, single spaces, at most `max` characters. */
export function clean(text: string, max: number): string {
  const plain = text
    .normalize("NFC")
    .replace(/[\p{C}\u2028\u2029]+/gu, " ")
    .replace(/\s+/gu, " ")
    .trim();
  const characters = Array.from(plain);
  return characters.length <= max ? plain : `${characters.slice(0, max - 1).join("")}…`;
}

/** Quotes a text, which cannot close the quotation marks itself. */
export function quoted(text: string): string {
  return `“${text.replaceAll(/[“”„‟"]/g, "'")}”`;
}

/** Normalises a name: case, `_`, spaces and a leading article make no difference. */
export const plainWord = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll("_", " ")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(?:the|a|an) (?=.)/, "");

/** Finds one of `ids` by id or name, in any case, with or without an article. */
export function findByName(ids: readonly string[], nameOf: (id: string) => string, wanted: string): string | undefined {
  if (ids.includes(wanted)) return wanted;
  const word = plainWord(wanted);
  return ids.find((id) => plainWord(id) === word || plainWord(nameOf(id)) === word);
}

const partsOf = (text: string): readonly string[] => plainWord(text).split(/[\s'’-]+/);

/** Finds one of `ids` by id, name, or a part of the name that no other has: `pouch` for the Leather Pouch. */
export function findByPart(ids: readonly string[], nameOf: (id: string) => string, wanted: string): string | undefined {
  const exact = findByName(ids, nameOf, wanted);
  if (exact !== undefined) return exact;
  const parts = partsOf(wanted);
  const close = ids.filter((id) => {
    const name = partsOf(nameOf(id));
    return parts.every((part) => part.length > 1 && name.includes(part));
  });
  return close.length === 1 ? close[0] : undefined;
}

/** The key of a name: case, spaces and dashes make no difference. */
export function folded(name: string): string {
  return name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\s_'-]/g, "");
}

/** `a, b and c`; empty for none. */
export function listed(names: readonly string[]): string {
  if (names.length < 2) return names[0] ?? "";
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1] ?? ""}`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
