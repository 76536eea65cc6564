// What a guide shows: its code, and the names of its tables.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const unspaced = (code: string): string => code.replace(/\s+/g, "");

/** A page of docs/guide. */
export const guideCalled = (name: string): string => readFileSync(join(root, "docs/guide", name), "utf8");

/** Each piece of its code, of which there are some, is part of one of these files; tests are none of them. */
export function assertShownCode(guide: string, files: string): void {
  const texts = globSync(files, { cwd: root, exclude: ["**/*.test.ts"] }).map((file) => unspaced(readFileSync(join(root, file), "utf8")));
  const shown = Array.from(guide.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, inner = ""]) => inner);
  assert.ok(shown.length > 5);
  for (const code of shown)
    assert.ok(
      texts.some((whole) => whole.includes(unspaced(code))),
      code,
    );
}

/** What stands in backquotes in a column (the first is 1) of the table of that head; sorted. */
export function namesInTable(guide: string, head: string, column: number): readonly string[] {
  const [, rest = ""] = guide.split(`${head}\n`);
  const [table = ""] = rest.split("\n\n");
  return table
    .split("\n")
    .flatMap((row) => Array.from((row.split("|")[column] ?? "").matchAll(/`(\w+)`/g), ([, name = ""]) => name))
    .toSorted();
}
