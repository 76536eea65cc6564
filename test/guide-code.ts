// Reads guides: their code, and the names in their tables.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
/** Code without what a formatter adds or drops where lines break: pages are narrower than the sources. */
export const unformatted = (code: string): string =>
  code
    .replace(/\s+/g, "")
    .replace(/,(?=[)\]}]|$)/g, "")
    .replace(/[()]/g, "");

const IMPORT = /^import (?:type )?(?:\{([^}]+)\}|(\* as \w+)) from "([^"]+)";\n*/gm;

/** `name from module` for each imported name, types included. */
const importsOf = (code: string): ReadonlySet<string> =>
  new Set(
    Array.from(code.matchAll(IMPORT)).flatMap(([, names, all = "", from = ""]) =>
      (names ?? all)
        .split(",")
        .map((name) => name.trim().replace(/^type /, ""))
        .filter((name) => name !== "")
        .map((name) => `${name} from ${from}`),
    ),
  );

/** A page of docs/guide. */
export const guideCalled = (name: string): string => readFileSync(join(root, "docs/guide", name), "utf8");

/** Asserts that each code block of the guide is part of one of these files, which also has its imports. Test files do not count. */
export function assertTestedCode(guide: string, files: string): void {
  const sources = globSync(files, { cwd: root, exclude: ["**/*.test.ts"] }).map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return { text: unformatted(text), imports: importsOf(text) };
  });
  const blocks = Array.from(guide.matchAll(/```ts\n([\s\S]*?)\n```/g), ([, inner = ""]) => inner);
  assert.ok(blocks.length > 5);
  for (const code of blocks) {
    const rest = unformatted(code.replace(IMPORT, ""));
    assert.ok(
      sources.some(({ text, imports }) => text.includes(rest) && Array.from(importsOf(code)).every((name) => imports.has(name))),
      code,
    );
  }
}

/** The names in backquotes in a column (from 1) of the table with that head; sorted. */
export function namesInTable(guide: string, head: string, column: number): readonly string[] {
  const [, rest = ""] = guide.split(`${head}\n`);
  const [table = ""] = rest.split("\n\n");
  return table
    .split("\n")
    .flatMap((row) => Array.from((row.split("|")[column] ?? "").matchAll(/`(\w+)`/g), ([, name = ""]) => name))
    .toSorted();
}
