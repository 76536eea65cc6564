// The names of all tests, read from the files: nothing runs.
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface NamedTest {
  readonly file: string;
  /** As it stands in the file; a name made in a loop keeps its `${…}`. */
  readonly name: string;
  /** The names of what it is in, then its own, joined by " › ". */
  readonly path: string;
}

const root = resolve(import.meta.dirname, "..");

export const testFiles: readonly string[] = globSync(
  ["src/**/*.test.ts", "src/testing/*-suite.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
  {
    cwd: root,
    exclude: ["**/node_modules/**"],
  },
).toSorted();

// `survives` and `itInMemory` are the suites' own ways to register a test. The formatter's indentation says which block ends.
const OPENING = /^([ \t]*)(?:(?:void )?(describe|test|it|itInMemory|survives)\(\s*("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\}\);$)/gm;

const spoken = (literal: string): string =>
  literal.startsWith('"') ? String(JSON.parse(literal)) : literal.slice(1, -1).replaceAll(/\\([`$\\])/g, "$1");

const namesIn = (file: string): readonly NamedTest[] => {
  const within: { readonly indent: number; readonly name: string }[] = [];
  return [...readFileSync(join(root, file), "utf8").matchAll(OPENING)].flatMap(([, { length: indent } = "", word, literal]) => {
    if (word === undefined || literal === undefined) {
      if (within.at(-1)?.indent === indent) within.pop();
      return [];
    }
    const name = spoken(literal);
    if (word !== "describe") return [{ file, name, path: [...within.map((one) => one.name), name].join(" › ") }];
    within.push({ indent, name });
    return [];
  });
};

export const namedTests: readonly NamedTest[] = testFiles.flatMap(namesIn);
