// Owns: finding an error code in the documentation's page of errors. Does not own: that page (docs/guide/errors.md).

export interface ErrorDoc {
  /** When it happens. */
  readonly when: string;
  /** Empty: the page does not say. */
  readonly advice: string;
}

/** By code; of the numbers of JSON-RPC, the first fault that has it. */
export function errorDocs(page: string): ReadonlyMap<string, ErrorDoc> {
  const found = new Map<string, ErrorDoc>();
  let columns: readonly string[] = [];
  for (const line of page.split("\n")) {
    if (!line.startsWith("|")) {
      columns = [];
      continue;
    }
    const cells = cellsOf(line);
    if (columns.length === 0) columns = cells.map((cell) => cell.toLowerCase());
    else add(found, columns, cells);
  }
  return found;
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

function add(found: Map<string, ErrorDoc>, columns: readonly string[], cells: readonly string[]): void {
  const when = columns.indexOf("when");
  if (when === -1 || cells.length !== columns.length) return;
  const doc = { when: plain(cells[when] ?? ""), advice: plain(cells[columns.indexOf("what to do")] ?? "") };
  const codes = Array.from((cells[0] ?? "").matchAll(/`([A-Z][A-Z0-9_]+)`/g), ([, code = ""]) => code);
  const numbers = Array.from(
    cells
      .slice(1, when)
      .join(" ")
      .matchAll(/-3\d{4}/g),
    ([number]) => number,
  );
  for (const code of [...codes, ...numbers]) if (!found.has(code)) found.set(code, doc);
}

const plain = (markdown: string): string =>
  markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/`/g, "")
    .trim();
