import assert from "node:assert/strict";
import { test } from "node:test";
import { pageFrom, plainText, readPages, searchIn, sectionText } from "./docs-pages.ts";

void test("a page is split at its headings, not at comments in code", () => {
  const page = pageFrom(
    "guide/x",
    "---\nlayout: doc\n---\n# A *page*\n\n![a](b.svg)\n\nIt says [very much](y.md) here. And more.\n\n## One `thing`\n\ntext\n\n```sh\n## no heading\n```\n\n### Two\n\n````md\n```sh\n## none\n```\n````\n",
  );
  assert.equal(page.title, "A page");
  assert.equal(page.summary, "It says very much here.");
  assert.deepEqual(
    page.sections.map(({ heading }) => heading),
    ["", "One thing", "Two"],
  );
  assert.ok(page.text.startsWith("# A *page*"));
});

void test("a section includes its subsections", () => {
  const page = pageFrom("guide/x", "# Page\n\nBegin.\n\n## One\n\na\n\n### Small\n\nb\n\n## Two\n\nc\n");
  assert.equal(sectionText(page, " one "), "# Page\n\n## One\n\na\n\n### Small\n\nb");
  assert.equal(sectionText(page, "Small"), "# Page\n\n### Small\n\nb");
  assert.equal(sectionText(page, "Two"), "# Page\n\n## Two\n\nc");
  assert.equal(sectionText(page, "Three"), undefined);
});

void test("plain text has no marks and no rules of tables", () => {
  assert.equal(plainText("| `a` | **b** |\n|---|:-:|\n| [c](d.md) | e |"), "a b c e");
});

void test("code keeps its marks, also in a table", () => {
  assert.equal(plainText("**Now** `advance(14 * 86_400_000)`, then ``a ` b``."), "Now advance(14 * 86_400_000), then a ` b.");
  assert.equal(plainText("| `a \\| b` | *c* |"), "a | b c");
  assert.equal(plainText("one ` alone * here"), "one alone here");
});

void test("an excerpt has code as on the page", () => {
  const search = searchIn([pageFrom("guide/a", "# Clocks\n\nMove the clock with `advance(14 * 86_400_000)` in a test.")]);
  assert.equal(search("move the clock", 1)[0]?.excerpt, "Move the clock with advance(14 * 86_400_000) in a test.");
});

void test("every page of the documentation has a title and a summary", () => {
  const pages = readPages();
  assert.ok(pages.length > 30);
  for (const { name, title, summary } of pages) {
    assert.notEqual(title, name);
    assert.ok(summary.length > 5 && summary.length <= 400, `${name}: ${summary}`);
  }
});

void test("a search ignores endings and stop words, and knows synonyms", () => {
  const pages = [
    pageFrom("guide/a", "# Timers\n\nAn actor sets a timer."),
    pageFrom("guide/b", "# Stores\n\nWhat is stored, and how to use it."),
    pageFrom("design/c", "# Timers inside\n\nHow a timer fires."),
  ];
  const search = searchIn(pages);
  assert.deepEqual(
    search("How do I use timers?", 5).map(({ page }) => page),
    ["guide/a", "design/c"],
  );
  assert.equal(search("database", 5)[0]?.page, "guide/b");
  assert.deepEqual(search("how do I", 5), []);
  assert.equal(search("timer", 1).length, 1);
  for (const inherited of ["constructor", "__proto__"]) assert.deepEqual(search(inherited, 5), []);
});
