// Owns: writing the pages of the site into a folder, with links that work there. Does not own: which files are pages (pages.ts), the reference.
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join, posix } from "node:path";
import type { Nodes } from "mdast";
import { parseMarkdown } from "./markdown.ts";
import { pageFiles, root } from "./pages.ts";

/** Writes all pages but the reference, and the files they link to: sources as pages with their text, pictures as they are. */
export function stage(folder: string): void {
  const addresses = pageFiles();
  const write = (address: string, text: string): void => {
    const to = join(folder, address);
    mkdirSync(dirname(to), { recursive: true });
    // Vite renders a page again when its file is written.
    if (!isSame(to, text)) writeFileSync(to, text);
  };
  const linked = new Set<string>();
  for (const [file, address] of addresses) {
    write(address, withLinks(readFileSync(join(root, file), "utf8"), file, address, addresses, linked));
  }
  write("index.md", withLinks(homePage(), "site/home.md", "index.md", addresses, linked));
  for (const file of linked) {
    if (file.endsWith(".png")) copyPicture(join(root, file), join(folder, pngAddress(file)));
    else if (file.endsWith(".svg")) for (const [variant, text] of variantsOf(file)) write(pictureAddress(file, variant), text);
    else write(sourceAddress(file), sourcePage(file));
  }
}

/** The home page, with the example of README in place of its marker. */
function homePage(): string {
  const [example = ""] = /```ts\n[\s\S]*?```/u.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  return readFileSync(join(root, "site/home.md"), "utf8").replace("<!-- example -->", () => example);
}

/** A page whose links to files of the repository lead to pages of the site. Adds files that are no pages to `linked`. */
function withLinks(text: string, file: string, address: string, addresses: ReadonlyMap<string, string>, linked: Set<string>): string {
  const changes: { readonly start: number; readonly end: number; readonly text: string }[] = [];
  const visit = (node: Nodes): void => {
    if ((node.type === "link" || node.type === "image" || node.type === "definition") && isRelative(node.url)) {
      const [path = "", anchor] = node.url.split("#");
      const to = posix.normalize(posix.join(dirname(file), decodeURI(path)));
      if (!existsSync(join(root, to))) throw new Error(`${file} links to ${node.url}, and there is no ${to}. Mend the link.`);
      const target = addresses.get(to) ?? addresses.get(`${to}/README.md`);
      if (target === undefined) linked.add(to);
      const { start, end } = node.position ?? {};
      const whole = text.slice(start?.offset, end?.offset);
      const relative = (there: string): string => `./${posix.relative(dirname(address), there)}${anchor === undefined ? "" : `#${anchor}`}`;
      const links =
        node.type === "image" && to.endsWith(".svg")
          ? (["light", "dark"] as const).map(
              (variant) => `${replaceLast(whole, node.url, relative(pictureAddress(to, variant)))}{.${variant}-only}`,
            )
          : [replaceLast(whole, node.url, relative(target ?? (to.endsWith(".png") ? pngAddress(to) : sourceAddress(to))))];
      changes.push({ start: start?.offset ?? 0, end: end?.offset ?? 0, text: links.join("") });
    } else if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(parseMarkdown(text));
  return changes.toReversed().reduce((done, { start, end, text: link }) => done.slice(0, start) + link + done.slice(end), text);
}

const isRelative = (url: string): boolean => !/^(?:[a-z][a-z+.-]*:|#|\/)/iu.test(url);

function replaceLast(text: string, from: string, to: string): string {
  const at = text.lastIndexOf(from);
  return text.slice(0, at) + to + text.slice(at + from.length);
}

const sourceAddress = (file: string): string =>
  statSync(join(root, file)).isDirectory() ? `source/${file}/index.md` : `source/${file.replace(/\.md$/u, "")}.md`;

const LANGUAGES: ReadonlyMap<string, string> = new Map([
  [".json", "json"],
  [".ts", "ts"],
  [".yaml", "yaml"],
]);

/** A file's text, or a folder's contents. Search leaves it out: guides answer questions better. */
function sourcePage(file: string): string {
  const head = `---\nsearch: false\neditLink: false\noutline: false\nprev: false\nnext: false\n---\n\n# ${file}\n\n`;
  if (statSync(join(root, file)).isDirectory())
    return `${head}${readdirSync(join(root, file))
      .map((name) => `- ${name}`)
      .join("\n")}\n`;
  const text = readFileSync(join(root, file), "utf8");
  return `${head}\`\`\`\`${LANGUAGES.get(extname(file)) ?? "txt"}\n${text.trimEnd()}\n\`\`\`\`\n`;
}

const pictureAddress = (file: string, variant: "light" | "dark"): string => `images/${basename(file, ".svg")}.${variant}.svg`;

const pngAddress = (file: string): string => `images/${basename(file)}`;

function copyPicture(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

/** A picture follows the system's colour scheme, and the site's can be chosen: so each scheme has a picture of its own. */
function variantsOf(file: string): readonly (readonly ["light" | "dark", string])[] {
  const text = readFileSync(join(root, file), "utf8");
  const dark = /@media \(prefers-color-scheme: dark\) \{((?:[^{}]*\{[^{}]*\})*)\s*\}/u;
  return [
    ["light", text.replace(dark, "")],
    ["dark", text.replace(dark, "$1")],
  ];
}

function isSame(file: string, text: string): boolean {
  try {
    return readFileSync(file, "utf8") === text;
  } catch {
    return false;
  }
}
