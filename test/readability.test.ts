// site/readability.json has a bound for each group of pages, and the current figures of pages that miss it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { AVOIDED_WORDS } from "../scripts/avoided-words.ts";

const root = resolve(import.meta.dirname, "..");
const readability = (...args: readonly string[]) =>
  spawnSync(process.execPath, ["scripts/docs.ts", "readability", ...args], { cwd: root, encoding: "utf8" });

const PAGE = `# One two three four

Short words are good. Call \`a.b()\` now.

| a table | is not prose |
|---|---|
| so it is not counted | at all |

\`\`\`ts
const code = "is not counted";
\`\`\`

- ${"This sentence goes on and on, ".repeat(20)}and the parser asked for it.
`;

test("readability counts words and sentences of prose, and names what is too long", () => {
  const folder = mkdtempSync(join(tmpdir(), "troupe-readability-"));
  try {
    const file = join(folder, "page.md");
    writeFileSync(file, PAGE);
    const ran = readability(file, "--json");
    const [page] = z
      .array(
        z.object({
          words: z.number(),
          sentences: z.number(),
          longestSentence: z.number(),
          flesch: z.number(),
          longParagraphs: z.array(z.object({ line: z.number(), lines: z.number() })),
          avoided: z.array(z.object({ line: z.number(), text: z.string() })),
        }),
      )
      .parse(JSON.parse(ran.stdout));
    assert.ok(page);
    const { flesch, ...counted } = page;
    assert.deepEqual(counted, {
      words: 4 + 3 + 126,
      sentences: 3,
      longestSentence: 126,
      longParagraphs: [{ line: 13, lines: 6 }],
      avoided: [{ line: 13, text: "asked" }],
    });
    assert.ok(flesch > 0 && flesch < 80, `${flesch}`);
    assert.match(readability(file).stdout, /page\.md:13 {2}sentence of 126 words\n {2}This sentence goes on/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("readability reports a missing page", () => {
  const { status, stderr } = readability("docs/no-such-page.md");
  assert.deepEqual([status, stderr], [1, "No such page: docs/no-such-page.md. Name Markdown files, or none to measure all pages.\n"]);
});

test("no page is harder to read than its bound", () => {
  const { status, stdout } = readability("--check");
  assert.equal(status, 0, stdout);
});

test("tables of the design pages have short sentences and no words to avoid", () => {
  const sentences = new Intl.Segmenter("en", { granularity: "sentence" });
  let rows = 0;
  for (const file of globSync("docs/{design,decisions}/*.md", { cwd: root }))
    for (const row of readFileSync(join(root, file), "utf8").match(/^\|.*$/gmu) ?? []) {
      rows += 1;
      // Quoted names of tests and code are excluded.
      const prose = row.replaceAll(/"[^"]*" (?=\()|\]\([^)]*\)|`[^`]*`/gu, "X");
      for (const cell of prose.split("|"))
        for (const { segment } of sentences.segment(cell)) {
          const words = segment.match(/[\p{L}\p{N}'’-]+/gu) ?? [];
          assert.ok(words.length <= 30, `${file}: ${segment}`);
          assert.deepEqual(
            words.filter((word) => AVOIDED_WORDS.has(word.toLowerCase())),
            [],
            `${file}: ${segment}`,
          );
        }
    }
  assert.ok(rows > 300);
});
