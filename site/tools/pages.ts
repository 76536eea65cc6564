// Owns: which files are pages of the site, their addresses, and the sidebar. Does not own: their contents (stage.ts).
import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import type { Nodes } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { parseMarkdown } from "./markdown.ts";
import { subpaths } from "./reference.ts";

export const root = resolve(import.meta.dirname, "../..");

const GUIDES = "docs/README.md";
const EXAMPLES = "examples/README.md";
const PROJECT = ["CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"];

/** Markdown files of the repository that are pages. Both sides are paths: from the root of the repository, and of the site. */
export function pageFiles(): ReadonlyMap<string, string> {
  const files = globSync(["docs/**/*.md", EXAMPLES, "examples/*/README.md", "ARCHITECTURE.md", ...PROJECT], { cwd: root }).toSorted();
  return new Map(["README.md", ...files].map((file) => [file, addressOf(file)]));
}

function addressOf(file: string): string {
  if (file === GUIDES) return "guide/index.md";
  if (file === EXAMPLES) return "examples/index.md";
  if (file.startsWith("docs/")) return file.slice("docs/".length).replace("README.md", "index.md");
  if (file.startsWith("examples/")) return `${dirname(file)}.md`;
  return `project/${file.toLowerCase()}`;
}

export interface Section {
  readonly title: string;
  readonly collapsed: boolean;
  readonly pages: readonly Entry[];
}
export interface Entry {
  /** From the root of the repository. */
  readonly file: string;
  /** Pages of its folder that an index links to. */
  readonly pages: readonly string[];
}

/** All pages in the order in which docs/README.md links to them, then the examples and the project's own. Each is listed once. */
export function sections(): readonly Section[] {
  const known = pageFiles();
  const listed = new Set(["README.md", EXAMPLES, ...PROJECT]);
  const isNew = (file: string): boolean => known.has(file) && !listed.has(file) && listed.add(file) === listed;
  const entryOf = (file: string): Entry => ({
    file,
    pages: file.endsWith("/README.md") && file !== GUIDES && dirname(dirname(file)) !== "examples" ? linksOf(file).filter(isNew) : [],
  });
  const guides = sectionsOf(GUIDES).map(({ title, links }, index): Section => {
    const files = (index === 0 ? [GUIDES, ...links] : links).filter(isNew);
    return { title, collapsed: title === "Design", pages: files.map(entryOf) };
  });
  const examples = linksOf(EXAMPLES).filter(isNew).map(entryOf);
  return [
    ...guides,
    { title: "Examples", collapsed: true, pages: [{ file: EXAMPLES, pages: [] }, ...examples] },
    { title: "Project", collapsed: true, pages: PROJECT.filter((file) => known.has(file)).map(entryOf) },
  ].filter(({ pages }) => pages.length > 0);
}

/** The headings of the second level of a page, each with the files it links to. */
function sectionsOf(file: string): readonly { readonly title: string; readonly links: readonly string[] }[] {
  const found: { readonly title: string; readonly links: string[] }[] = [];
  for (const node of read(file).children) {
    if (node.type === "heading" && node.depth === 2) found.push({ title: textOf(node), links: [] });
    else found.at(-1)?.links.push(...linksIn(node, file));
  }
  return found;
}

const linksOf = (file: string): readonly string[] => linksIn(read(file), file);

function linksIn(node: Nodes, file: string): readonly string[] {
  if (node.type === "link") return [posix.join(dirname(file), node.url.replace(/#.*$/u, ""))];
  return "children" in node ? node.children.flatMap((child) => linksIn(child, file)) : [];
}

const read = (file: string) => parseMarkdown(readFileSync(join(root, file), "utf8"));

interface Item {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: Item[];
}

export function sidebar(): Item[] {
  const addresses = pageFiles();
  const itemOf = (file: string): Item => ({ text: titleOf(file), link: `/${linkOf(addresses.get(file) ?? "")}` });
  const items = sections().map(({ title, collapsed, pages }): Item => ({
    text: title,
    ...(collapsed ? { collapsed } : {}),
    items: pages.map(({ file, pages: inner }) =>
      inner.length === 0 ? itemOf(file) : { ...itemOf(file), collapsed: true, items: inner.map(itemOf) },
    ),
  }));
  const names = [...subpaths().keys()];
  const reference = { text: "Reference", collapsed: true, items: names.map((name) => ({ text: name, link: `/reference/${name}` })) };
  const design = items.findIndex(({ text }) => text === "Design");
  return items.toSpliced(design < 0 ? items.length : design, 0, reference);
}

const linkOf = (address: string): string => address.replace(/(^|\/)index\.md$/u, "$1").replace(/\.md$/u, "");

/** The first heading of a page. */
export function titleOf(file: string): string {
  const heading = read(file).children.find(({ type }) => type === "heading");
  return heading === undefined ? file : textOf(heading);
}

/** The repository's address in package.json; undefined until its owner has filled it in. */
export function repositoryUrl(): string | undefined {
  const text = readFileSync(join(root, "package.json"), "utf8");
  return /"repository":\s*(?:\{[^}]*"url":\s*)?"(?:git\+)?(https:\/\/[^"]+?)(?:\.git)?"/u.exec(text)?.[1];
}
