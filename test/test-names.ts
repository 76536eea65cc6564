// Reads the names of all tests from their files, without running them.
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface NamedTest {
  readonly file: string;
  /** As written, without its tags; a name in a template literal has its `${…}` unresolved. */
  readonly name: string;
  /** Ids of the promises that the test covers: its name ends with ` #id` for each. */
  readonly tags: readonly string[];
  /** The names of its `describe` blocks and its own, joined by " › ". */
  readonly path: string;
}

const root = resolve(import.meta.dirname, "..");

export const testFiles: readonly string[] = globSync(
  ["src/**/*.test.ts", "src/testing/conformance/*-suite.ts", "test/**/*.test.ts", "examples/**/*.test.ts"],
  {
    cwd: root,
    exclude: ["**/node_modules/**"],
  },
).toSorted();

// `survives` and `itInMemory` are the suites' own ways to register a test. The formatter's indentation says which block ends.
const OPENING = /^([ \t]*)(?:(?:void )?(describe|test|it|itInMemory|survives)\(\s*("(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|\}\);$)/gm;

const spoken = (literal: string): string =>
  literal.startsWith('"') ? String(JSON.parse(literal)) : literal.slice(1, -1).replaceAll(/\\([`$\\])/g, "$1");

const TAGS = /(?: #[a-z0-9]+(?:[.-][a-z0-9]+)+)+$/;

const namesIn = (file: string): readonly NamedTest[] => {
  const within: { readonly indent: number; readonly name: string }[] = [];
  return [...readFileSync(join(root, file), "utf8").matchAll(OPENING)].flatMap(([, { length: indent } = "", word, literal]) => {
    if (word === undefined || literal === undefined) {
      if (within.at(-1)?.indent === indent) within.pop();
      return [];
    }
    const written = spoken(literal);
    const [tags = ""] = TAGS.exec(written) ?? [];
    const name = written.slice(0, written.length - tags.length);
    if (word !== "describe")
      return [{ file, name, tags: tags.split(" #").slice(1), path: [...within.map((one) => one.name), name].join(" › ") }];
    within.push({ indent, name });
    return [];
  });
};

export const namedTests: readonly NamedTest[] = testFiles.flatMap(namesIn);
