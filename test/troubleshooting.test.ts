// Each message in a heading of docs/guide/troubleshooting.md is printed by the sources.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");

const page = read("docs/guide/troubleshooting.md");
/** Joins concatenated string literals, so that a sentence can be found as a whole. */
const sources = globSync(["src/**/*.ts", "bin/*.js"], { cwd: root, exclude: ["**/*.test.ts"] })
  .map((file) => read(file).replaceAll(/["`] \+\s+["`]/g, ""))
  .join("\n");

/** Messages of Node, SQLite, TypeScript, clients and model APIs. */
const OTHERS = [
  "Cannot find module",
  "Cannot find package",
  "Cannot read properties",
  "Connection closed",
  "MCP error",
  "Unexpected token",
  "database is locked",
  "implicitly has type",
  "input_schema does not support",
  "spawn",
  "strip-only mode",
];

const WORDS = 3;

/** Whether a run of the message's constant words is in the sources. */
function isOurs(message: string): boolean {
  const words = message.split(" ");
  const runs = words.slice(0, -WORDS + 1).map((_word, start) => words.slice(start, start + WORDS).join(" "));
  return runs.some((run) => sources.includes(run));
}

const messages = [...page.matchAll(/^### (.*)$/gm)].flatMap(([, heading = ""]) =>
  [...heading.matchAll(/`([^`]+)`/g)].map(([, message = ""]) => message).filter((message) => message.split(" ").length > WORDS),
);

test("the page has the messages of the most common failures", () => assert.ok(messages.length > 20));

for (const message of messages)
  test(`a symptom is what is printed: ${message}`.slice(0, 80), () => {
    assert.ok(isOurs(message) || OTHERS.some((other) => message.includes(other)), message);
  });

test("each code in a heading is an error code", () => {
  const codes = [...page.matchAll(/^### .*$/gm)].flatMap(([heading]) =>
    [...heading.matchAll(/`([A-Z][A-Z_]+)`/g)].map(([, code = ""]) => code),
  );
  assert.ok(codes.length > 8);
  const known = read("docs/guide/errors.md");
  assert.deepEqual(
    codes.filter((code) => !known.includes(`\`${code}\``)),
    [],
  );
});
