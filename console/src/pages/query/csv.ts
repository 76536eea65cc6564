// Owns: rows as comma-separated values (RFC 4180), and names for their columns that differ.
import type { Json } from "../../../../src/core/contract/index.ts";

/** `count(*)`, `count(*) 2` */
export function uniqueNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let own = name;
    for (let n = 2; taken.has(own); n += 1) own = `${name} ${n}`;
    taken.add(own);
    return own;
  });
}

export const csvOf = (names: readonly string[], rows: readonly (readonly Json[])[]): string =>
  [names, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");

function cell(value: Json): string {
  const text = value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
