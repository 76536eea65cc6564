// Questions that users of other MCP frameworks asked in public have an answer in the documentation, on a page that its own words lead to.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const questions = z
  .array(z.object({ question: z.string(), source: z.string(), search: z.string(), page: z.string(), answer: z.string() }))
  .parse(JSON.parse(read("test/site/peer-questions.json")));

const words = (text: string): readonly string[] => text.toLowerCase().split(/[^a-z0-9]+/);

test("at least fifteen questions have an answer", () => assert.ok(questions.length >= 15));

for (const { question, search, page, answer } of questions)
  test(`answered: ${question}`.slice(0, 80), () => {
    const text = read(page);
    assert.ok(text.replaceAll(/\s+/g, " ").includes(answer), `${page} does not say: ${answer}`);
    // Search looks for words that begin with what was typed.
    const present = words(text);
    const missing = words(search).filter((word) => !present.some((one) => one.startsWith(word)));
    assert.deepEqual(missing, [], `${page} lacks words that people search for`);
  });
