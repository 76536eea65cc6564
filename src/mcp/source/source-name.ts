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
