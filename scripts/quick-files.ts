// Owns: which test files `npm run test:quick` runs, and why it leaves out the others. Does not own: running them.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Test files by path from the root. A file is left out if its own code or a module that it imports starts processes or threads, or if it has a line `// slow: why`. */
export function quickFiles(root: string): { readonly run: readonly string[]; readonly leftOut: ReadonlyMap<string, string> } {
  const starts = new Map<string, boolean>();
  const startsProcesses = (file: string): boolean => {
    const known = starts.get(file);
    if (known !== undefined) return known;
    // An import of a missing module fails where it runs, with a better message.
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const found = STARTERS.test(text) || importsOf(file, text).some(startsProcesses);
    starts.set(file, found);
    return found;
  };
  const run: string[] = [];
  const leftOut = new Map<string, string>();
  // Some folders of tests have packages of their own, which bring tests.
  for (const file of globSync(TEST_FILES, { cwd: root, exclude: ["**/node_modules/**"] }).toSorted()) {
    const path = join(root, file);
    const [, why] = SLOW.exec(readFileSync(path, "utf8")) ?? [];
    if (startsProcesses(path)) leftOut.set(file, "starts processes or threads");
    else if (why !== undefined) leftOut.set(file, `slow: ${why}`);
    else run.push(file);
  }
  return { run, leftOut };
}

const TEST_FILES = ["src/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"];
const STARTERS = /["']node:(?:child_process|cluster|worker_threads)["']/u;
const SLOW = /^\/\/ slow: (.+)$/mu;

function importsOf(file: string, text: string): string[] {
  return [...text.matchAll(/^(?:import|export) (?!type )(?:[^"';]* from )?["'](\.[^"']+\.ts)["']/gmu)].map(([, path = ""]) =>
    resolve(dirname(file), path),
  );
}
