// Owns: which pages `npm run readability` measures, and what it prints. Does not own: measuring (prose.ts), bounds (bounds.ts).
import { globSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { missedBounds, saveBounds } from "./bounds.ts";
import { measureProse } from "./prose.ts";
import type { Prose } from "./prose.ts";

const USAGE = `Measures how readable pages are: npm run readability -- [files] [--json | --check | --save]

  files    Markdown files; all pages without one. A named file is listed with its long sentences and paragraphs
  --json   print the figures as JSON
  --check  name the pages that miss their bounds in site/readability.json, and exit with 1 if there are any
  --save   write today's figures into site/readability.json, for pages that miss the bounds of their group. No bound is loosened

Columns: words; mean and longest sentence in words; paragraphs over five lines; words to avoid; Flesch reading ease
(60 is plain English, 50 the aim for guides). Code, tables and headings are left out.`;

const root = resolve(import.meta.dirname, "../..");
const PAGES = ["*.md", "docs/*.md", "docs/{guide,tutorial,recipes,design,decisions}/**/*.md", "examples/*/README.md"];

interface Page extends Prose {
  readonly file: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, check: { type: "boolean" }, save: { type: "boolean" }, help: { type: "boolean" } },
});

if (values.help === true) console.log(USAGE);
else {
  const from = process.env["INIT_CWD"] ?? process.cwd();
  const files = positionals.length > 0 ? positionals.map((file) => relative(root, resolve(from, file))) : globSync(PAGES, { cwd: root });
  const missing = files.filter((file) => globSync(file, { cwd: root }).length === 0);
  if (missing.length > 0) {
    console.error(`No such page: ${missing.join(", ")}. Name Markdown files, or none to measure all pages.`);
    process.exitCode = 1;
  } else {
    const pages = files.toSorted().map((file): Page => ({ file, ...measureProse(readFileSync(join(root, file), "utf8")) }));
    if (values.save === true) saveBounds(pages);
    if (values.check === true) check(pages);
    else if (values.json === true) console.log(JSON.stringify(pages, null, 2));
    else print(pages, positionals.length > 0);
  }
}

function check(pages: readonly Page[]): void {
  const missed = missedBounds(pages);
  console.log(missed.length > 0 ? missed.join("\n") : `${pages.length} pages are within their bounds.`);
  if (missed.length > 0) process.exitCode = 1;
}

function print(pages: readonly Page[], inFull: boolean): void {
  const width = Math.max(...pages.map(({ file }) => file.length), 4);
  console.log(`${"page".padEnd(width)}  words  mean  longest  long paragraphs  avoided  Flesch`);
  for (const page of pages) {
    const { file, words, meanSentence, longestSentence, longParagraphs, avoided, flesch } = page;
    const cells = [
      [words, 5],
      [meanSentence.toFixed(1), 4],
      [longestSentence, 7],
      [longParagraphs.length, 15],
      [avoided.length, 7],
      [flesch.toFixed(1), 6],
    ] as const;
    console.log([file.padEnd(width), ...cells.map(([value, size]) => String(value).padStart(size))].join("  "));
  }
  if (!inFull) return;
  for (const { file, longSentences, longParagraphs, avoided } of pages) {
    for (const { line, lines, text } of longParagraphs) console.log(`\n${file}:${line}  paragraph of ${lines} lines\n  ${text}`);
    for (const { line, words, text } of longSentences) console.log(`\n${file}:${line}  sentence of ${words} words\n  ${text}`);
    for (const { line, text } of avoided) console.log(`\n${file}:${line}  word to avoid: ${text}`);
  }
}
