// Owns: the documentation's pages as they are in the package: their addresses, titles and sections. Does not own: searching or serving them.
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PROGRAM } from "../program.ts";

/** What is below one heading, up to the next. */
interface Section {
  /** 2 or 3, as its heading has marks; 1 for what comes before the first. */
  readonly level: number;
  /** Empty: what comes before the first heading of the second level. */
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
const FOLDER = join(dirname(PROGRAM), "..", "docs");

/** Headings and code blocks of a page: a line that begins with `#` in code is no heading. */
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

/** A code span or block, or one of the marks outside of code. */
const CODE_OR_MARK = /(`+)([^]*?)\1|[`*|]/g;

/** Without the marks and addresses of Markdown. Code stays as it is: there `*` and `|` mean something. */
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
  // Settings of the site's generator.
  const text = source.replace(/^---\n[^]*?\n---\n/, "").trim();
  const title = plainText(/^# (.+)$/m.exec(text)?.[1] ?? name);
  const body = text.replace(/^# .+$/m, "").trim();
  return { name, title, summary: summaryOf(body), text, sections: sectionsOf(body) };
};

/** The text of the section with this heading and of the smaller ones in it. Undefined: there is none. */
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
