// Owns: the bounds in site/readability.json, and which pages miss them. Does not own: measuring (prose.ts).
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import type { Prose } from "./prose.ts";

const BOUNDS = resolve(import.meta.dirname, "../readability.json");

const figures = z.strictObject({
  /** The lowest reading ease. */
  flesch: z.number(),
  meanSentence: z.number(),
  longestSentence: z.int(),
  longParagraphs: z.int(),
  avoided: z.int(),
});
type Figures = z.infer<typeof figures>;
const MEASURES = ["flesch", "meanSentence", "longestSentence", "longParagraphs", "avoided"] as const;

const bounds = z.strictObject({
  groups: z.array(z.strictObject({ pages: z.array(z.string()), ...figures.shape })),
  /** Pages that miss a bound of their group, and by how much: they may only become better. */
  exceptions: z.record(z.string(), figures.partial()),
});

interface Page extends Prose {
  readonly file: string;
}

/** One sentence for each figure that is worse than its bound. */
export function missedBounds(pages: readonly Page[]): readonly string[] {
  const { groups, exceptions } = read();
  return pages.flatMap((page) => {
    const group = groupOf(groups, page.file);
    if (group === undefined) return [];
    const today = figuresOf(page);
    return MEASURES.flatMap((name) => {
      const bound = exceptions[page.file]?.[name] ?? group[name];
      return isWorse(name, today[name], bound) ? [`${page.file}: ${name} is ${today[name]}, and the bound is ${bound}`] : [];
    });
  });
}

/** Writes today's figures of these pages as their bounds where they miss those of their group. No bound is loosened. */
export function saveBounds(pages: readonly Page[]): void {
  const { groups, exceptions } = read();
  const kept = Object.entries(exceptions).filter(([file]) => !pages.some((page) => page.file === file));
  const renewed = pages.flatMap((page) => {
    const group = groupOf(groups, page.file);
    if (group === undefined) return [];
    const today = figuresOf(page);
    const before = exceptions[page.file];
    const missed = MEASURES.filter((name) => isWorse(name, today[name], group[name])).map((name) => {
      const bound = before === undefined ? today[name] : (before[name] ?? group[name]);
      return [name, isWorse(name, today[name], bound) ? bound : today[name]] as const;
    });
    return missed.length > 0 ? [[page.file, Object.fromEntries(missed)] as const] : [];
  });
  const sorted = [...kept, ...renewed].toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(BOUNDS, `${JSON.stringify({ groups, exceptions: Object.fromEntries(sorted) }, null, 2)}\n`);
}

const read = (): z.infer<typeof bounds> => bounds.parse(JSON.parse(readFileSync(BOUNDS, "utf8")));

const groupOf = (groups: z.infer<typeof bounds>["groups"], file: string): Figures | undefined =>
  groups.find(({ pages }) => pages.some((start) => file.startsWith(start)));

const figuresOf = ({ flesch, meanSentence, longestSentence, longParagraphs, avoided }: Page): Figures => ({
  flesch,
  meanSentence,
  longestSentence,
  longParagraphs: longParagraphs.length,
  avoided: avoided.length,
});

const isWorse = (name: keyof Figures, value: number, bound: number): boolean => (name === "flesch" ? value < bound : value > bound);
