// Public questions of other MCP frameworks' users are answered on a page that one search finds.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { readPages, searchIn } from "../src/cli/docs-pages.ts";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const questions = z
  .array(z.object({ question: z.string(), source: z.string(), search: z.string(), page: z.string(), answer: z.string() }))
  .parse(JSON.parse(read("test/site/peer-questions.json")));

const newcomers = z.array(z.object({ search: z.string(), pages: z.array(z.string()) })).parse(JSON.parse(read("test/site/questions.json")));

const search = searchIn(readPages());
const HITS = 3;

test("at least fifteen questions are answered", () => assert.ok(questions.length >= 15));

for (const { question, search: typed, page, answer } of questions)
  test(`the documentation answers: ${question}`.slice(0, 80), () => {
    assert.ok(read(page).replaceAll(/\s+/g, " ").includes(answer), `${page} does not say: ${answer}`);
    const found = search(typed, HITS).map((hit) => `docs/${hit.page}.md`);
    assert.ok(found.includes(page), `${typed}: ${found.join(", ")}`);
  });

for (const { search: typed, pages } of newcomers)
  test(`a newcomer's search finds a page that answers: ${typed}`, () => {
    const found = search(typed, HITS).map((hit) => `docs/${hit.page}.md`);
    assert.ok(
      pages.some((page) => found.includes(page)),
      found.join(", "),
    );
  });
