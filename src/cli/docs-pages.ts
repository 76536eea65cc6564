// Owns: the documentation's pages, and which of them answer a question. Does not own: serving them (docs-server.ts).
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { getOwn } from "../core/contract/internal.ts";
import { PACKAGE } from "./installed-packages.ts";

/** The text below one heading, up to the next. */
interface Section {
  /** 2 or 3, the level of its heading; 1 for the text before the first heading. */
  readonly level: number;
  /** Empty for the text before the first heading. */
  readonly heading: string;
  readonly text: string;
}

export interface Page {
  /** The path in the folder of the documentation, without `.md`: `guide/actors`. */
  readonly name: string;
  readonly title: string;
  /** Its first sentence of prose. */
  readonly summary: string;
  readonly text: string;
  readonly sections: readonly Section[];
}

/** Next to the program, in a checkout as in the package. */
const FOLDER = join(PACKAGE, "docs");

/** Splits a page at its headings. A line in a code block that begins with `#` is not a heading. */
const sectionsOf = (text: string): readonly Section[] => {
  const sections: { level: number; heading: string; lines: string[] }[] = [{ level: 1, heading: "", lines: [] }];
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const marker = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (marker !== undefined && (fence === undefined || line.trim() === fence)) fence = fence === undefined ? marker : undefined;
    const [, marks, heading] = (fence === undefined ? /^(#{2,3}) (.+)$/.exec(line) : undefined) ?? [];
    if (marks === undefined || heading === undefined) sections.at(-1)?.lines.push(line);
    else sections.push({ level: marks.length, heading: plainText(heading), lines: [] });
  }
  return sections.map(({ level, heading, lines }) => ({ level, heading, text: lines.join("\n").trim() }));
};

/** A code span or block, or a mark outside of code. */
const CODE_OR_MARK = /(`+)([^]*?)\1|[`*|]/g;

/** The text without Markdown's marks and addresses. Code stays as it is: `*` and `|` mean something there. */
export const plainText = (markdown: string): string =>
  markdown
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/^\s*\|?[\s:|-]+\|?\s*$/gm, "")
    .replaceAll(CODE_OR_MARK, (_found, _fence, code: string | undefined) => code?.replaceAll("\\|", "|") ?? " ")
    .replaceAll(/\s+/g, " ")
    .trim();

const summaryOf = (text: string): string => {
  const paragraph = text.split(/\n{2,}/).find((part) => /^[A-Za-z`[*]/.test(part)) ?? "";
  const plain = plainText(paragraph);
  return /^.{20,}?[.!?](?= |$)/.exec(plain)?.[0] ?? plain.slice(0, 200);
};

/** Reads a page. `name` is its path without `.md`. */
export const pageFrom = (name: string, source: string): Page => {
  // Front matter for the site generator.
  const text = source.replace(/^---\n[^]*?\n---\n/, "").trim();
  const title = plainText(/^# (.+)$/m.exec(text)?.[1] ?? name);
  const body = text.replace(/^# .+$/m, "").trim();
  return { name, title, summary: summaryOf(body), text, sections: sectionsOf(body) };
};

/** The text of the section with this heading, subsections included. Undefined if there is none. */
export const sectionText = ({ title, sections }: Page, heading: string): string | undefined => {
  const wanted = heading.trim().toLowerCase();
  const from = sections.findIndex((one) => one.heading.toLowerCase() === wanted);
  const section = sections[from];
  if (section === undefined) return undefined;
  const next = sections.findIndex(({ level }, index) => index > from && level <= section.level);
  const parts = sections.slice(from, next === -1 ? undefined : next);
  return [`# ${title}`, ...parts.flatMap(({ level, heading: own, text }) => [`${"#".repeat(level)} ${own}`, text])].join("\n\n");
};

/** All pages, by name. */
export const readPages = (folder: string = FOLDER): readonly Page[] =>
  globSync("**/*.md", { cwd: folder, exclude: ["node_modules", "public"] })
    .map((file) => file.replaceAll("\\", "/"))
    .toSorted()
    .map((file) => pageFrom(file.replace(/\.md$/, ""), readFileSync(join(folder, file), "utf8")));

/** The best section of one page. */
interface Hit {
  readonly page: string;
  readonly title: string;
  /** Empty: the beginning of the page. */
  readonly heading: string;
  readonly excerpt: string;
}

/** Words that occur in every question. */
const STOP = new Set(
  (
    "a an and are as at be by can do does for from how i if in into is it its me my no not of on or our should so that the their them then there these " +
    "this to use using want was we what when where which why will with without would you your"
  ).split(" "),
);

/** Words that people use, and those that the pages use for them. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  audit: ["chain", "verify", "receipt"],
  auth: ["authentication"],
  authenticate: ["authentication"],
  balancer: ["cluster"],
  login: ["authentication"],
  cron: ["timer"],
  schedule: ["timer"],
  database: ["store", "sqlite"],
  debug: ["console"],
  disaster: ["restore", "backup"],
  discovery: ["limit"],
  docker: ["container"],
  eyes: ["approval"],
  gdpr: ["erase", "personal"],
  instance: ["machine", "cluster"],
  kubernetes: ["container", "cluster"],
  metric: ["telemetry"],
  logging: ["log"],
  monitor: ["telemetry"],
  nginx: ["proxy"],
  oauth: ["token", "authentication"],
  history: ["chain", "event"],
  persist: ["store", "durable"],
  persistence: ["store", "durable"],
  rag: ["search"],
  revert: ["undo"],
  rollback: ["undo", "revert"],
  reduce: ["limit"],
  replica: ["machine", "cluster"],
  scale: ["cluster"],
  scaling: ["cluster"],
  serverless: ["lambda"],
  tamper: ["chain", "verify"],
  timed: ["timeout"],
  upload: ["file"],
  uuid: ["id"],
  variable: ["environment", "settings"],
  variables: ["environment", "settings"],
  webhook: ["http"],
  workflow: ["work", "task"],
};

/** Removes plurals and endings, in the index and in questions alike. */
const stem = (word: string): string => {
  if (word.length < 5) return word.replace(/(?<=[a-z]{3})s$/, "");
  return word
    .replace(/ies$/, "y")
    .replace(/(?:(?<=[sxz]|ch|sh)es|(?<!s)s)$/, "")
    .replace(/(?:ing|ed)$/, "")
    .replace(/e$/, "");
};

const processTerm = (term: string): string | null => {
  const word = term.toLowerCase();
  return STOP.has(word) || word.length < 2 ? null : stem(word);
};

/** Guides and recipes answer questions; the other pages are about Troupe's design. */
const weightOf = (page: string): number => (/^(?:design|decisions)\/|^benchmarks$|(?:^|\/)README$/.test(page) ? 0.4 : 1);

const EXCERPT = 320;

const NOT_WORD = /[^\p{L}\p{N}_]+/u;

/** The paragraph or table row that has the most of these words. */
const excerptOf = (text: string, words: ReadonlySet<string>): string => {
  let best = { score: -1, text: "" };
  for (const part of text.replaceAll(/```[^]*?```/g, "").split(/\n{2,}|\n(?=\||- |\d+\. )/)) {
    const plain = plainText(part);
    if (plain === "") continue;
    const present = new Set(plain.split(NOT_WORD).map(processTerm));
    const score = [...words].filter((word) => present.has(word)).length;
    if (score > best.score) best = { score, text: plain };
  }
  return best.text.length > EXCERPT ? `${best.text.slice(0, EXCERPT - 1)}…` : best.text;
};

interface Entry {
  readonly id: number;
  readonly page: Page;
  readonly heading: string;
  readonly text: string;
}

/** A search over these pages. Returns the best page first. */
export const searchIn = (pages: readonly Page[]): ((question: string, limit: number) => readonly Hit[]) => {
  const entries: readonly Entry[] = pages
    .flatMap((page) => page.sections.map(({ heading, text }) => ({ page, heading, text })))
    .map((entry, id) => ({ id, ...entry }));
  const index = new MiniSearch<Entry>({
    fields: ["title", "name", "heading", "text"],
    extractField: (entry, field) =>
      field === "id"
        ? String(entry.id)
        : field === "title"
          ? entry.page.title
          : field === "name"
            ? entry.page.name.replaceAll(/[/-]/g, " ")
            : field === "heading"
              ? entry.heading
              : plainText(entry.text),
    processTerm,
    searchOptions: {
      boost: { title: 3, name: 1.5, heading: 4 },
      prefix: (term) => term.length > 3,
      fuzzy: (term) => (term.length > 5 ? 0.15 : false),
      boostDocument: (id) => weightOf(entries[Number(id)]?.page.name ?? ""),
    },
  });
  index.addAll(entries);

  return (question, limit) => {
    const words = question.toLowerCase().split(NOT_WORD);
    const also = words.flatMap((word) => getOwn(SYNONYMS, word) ?? getOwn(SYNONYMS, stem(word)) ?? []);
    const terms = new Set([...words, ...also].map(processTerm).filter((word) => word !== null));
    const found = index.search([question, ...also].join(" "));
    const hits = new Map<string, Hit>();
    for (const { id } of found) {
      const entry = entries[Number(id)];
      if (entry === undefined || hits.has(entry.page.name)) continue;
      const { page, heading, text } = entry;
      hits.set(page.name, { page: page.name, title: page.title, heading, excerpt: excerptOf(text, terms) });
      if (hits.size === limit) break;
    }
    return [...hits.values()];
  };
};
