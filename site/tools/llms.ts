// Owns: what language models read: llms.txt, llms-full.txt, and each page as Markdown. Does not own: the pages.
import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toString as textOf } from "mdast-util-to-string";
import { parseMarkdown } from "./markdown.ts";
import { pageFiles, sections, titleOf } from "./pages.ts";
import { subpaths } from "./reference.ts";

/** llmstxt.org's files, beside the built pages. llms-full.txt has the guides and leaves out the reference and the sources. */
export function writeForModels(pages: string, dist: string): void {
  for (const file of globSync("**/*.md", { cwd: pages })) if (file !== "index.md") cpSync(join(pages, file), join(dist, file));
  const addresses = pageFiles();
  const lines = [
    "# Troupe",
    "",
    "> A TypeScript framework for MCP servers that have state: durable actors whose tools, resources and prompts change with it.",
    "",
    "Each page is Markdown. [llms-full.txt](llms-full.txt) has all guides in one file.",
  ];
  const whole: string[] = [];
  for (const { title, pages: entries } of sections()) {
    lines.push("", `## ${title}`, "");
    for (const file of entries.flatMap((entry) => [entry.file, ...entry.pages])) {
      const address = addresses.get(file) ?? file;
      const text = readFileSync(join(pages, address), "utf8");
      const summary = summaryOf(text);
      lines.push(`- [${titleOf(file)}](${address})${summary === "" ? "" : `: ${summary}`}`);
      whole.push(`<!-- ${address} -->\n\n${text.trim()}\n`);
    }
  }
  lines.push("", "## Reference", "", ...[...subpaths().keys()].map((name) => `- [${name}](reference/${name}.md)`), "");
  writeFileSync(join(dist, "llms.txt"), lines.join("\n"));
  writeFileSync(join(dist, "llms-full.txt"), whole.join("\n"));
}

/** The first sentence of a page. */
function summaryOf(text: string): string {
  const paragraph = parseMarkdown(text).children.find(({ type }) => type === "paragraph");
  if (paragraph === undefined) return "";
  const [first] = new Intl.Segmenter("en", { granularity: "sentence" }).segment(textOf(paragraph).replaceAll("\n", " "));
  return first?.segment.trim() ?? "";
}
