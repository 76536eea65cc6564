// Owns: the names that errors call sources by, and their joined instructions. Does not own: names of offers (names.ts).

import type { Source } from "../../core/contract/index.ts";

const named = new WeakMap<Source, string>();

/** Gives a source the words an error calls it by, where its names meet those of another. */
export function describeSource(source: Source, words: string): void {
  named.set(source, words);
}

/** What an error calls a source: its own words, or where it stands among the others. */
export function sourceWords(source: Source, position: number): string {
  return named.get(source) ?? `source ${position + 1}`;
}

interface Under {
  /** What all its names begin with. */
  readonly head: string;
  readonly inside: Source;
}

const prefixed = new WeakMap<Source, Under>();

/** The instructions of a source under a prefix are those of the source inside, which knows nothing of the prefix. */
export function describePrefix(source: Source, under: Under): void {
  prefixed.set(source, under);
}

/** The texts of several sources, each once, with the prefix that what it speaks of has here. */
export function joinInstructions(sources: readonly Source[]): string | undefined {
  const heads = new Map<string, string[]>();
  for (const source of sources) {
    const under = prefixed.get(source);
    const text = (under?.inside ?? source).instructions;
    if (text === undefined || text === "") continue;
    heads.set(text, [...(heads.get(text) ?? []), under?.head ?? ""]);
  }
  const texts = [...heads].map(([text, among]) => (among.includes("") ? text : `${aboutNames(among)}\n${text}`));
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

function aboutNames(heads: readonly string[]): string {
  return `About everything here whose name begins with ${heads.map((head) => JSON.stringify(head)).join(" or ")}:`;
}
