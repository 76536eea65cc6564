// Prints what Troupe promises as a table in Markdown, each promise with the tests that show it.
import promises from "../test/promises.json" with { type: "json" };
import { namedTests } from "../test/test-names.ts";

const [wanted = ""] = process.argv.slice(2);
const byTag = new Map<string, string[]>();
for (const { file, path, tags } of namedTests)
  for (const tag of tags) {
    const tests = byTag.get(tag) ?? [];
    tests.push(`${path} (${file})`);
    byTag.set(tag, tests);
  }

const cell = (text: string): string => text.replaceAll("|", "\\|");

console.log("| promise | what | tests |\n|---|---|---|");
for (const [id, sentence] of Object.entries(promises))
  if (id.startsWith(wanted)) console.log(`| ${id} | ${cell(sentence)} | ${(byTag.get(id) ?? []).map(cell).join("<br>")} |`);
