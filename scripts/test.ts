// Runs the tests: all, or the files that are named. What begins with a dash is an option of `node --test`.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { quickFiles } from "./quick-files.ts";
import { runQuick } from "./run-quick.ts";

const root = join(import.meta.dirname, "..");
const given = process.argv.slice(2);
const isOption = (arg: string): boolean => arg.startsWith("-");
const named = given.filter((arg) => !isOption(arg));

if (given.length > 0)
  process.exitCode = runApart(named.length > 0 ? named : ["src/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"]);
else {
  // Most of a short file's time goes into loading what the others have loaded, so those that can share a process do.
  const { run, leftOut } = quickFiles(root);
  const failures = await runQuick(root, run);
  const apart = runApart([...leftOut.keys()]);
  // Again, since thousands of lines were printed after them.
  if (failures.length > 0) console.log(`Failed in the first ${run.length} files:\n${failures.join("\n")}`);
  process.exitCode = failures.length > 0 ? 1 : apart;
}

/** Each file in a process of its own. Returns the exit code. */
function runApart(files: readonly string[]): number {
  const { status } = spawnSync(
    process.execPath,
    [
      "--conditions=troupe-source",
      "--test",
      "--test-timeout=300000",
      // Tests wait, too: while one does, another one runs.
      `--test-concurrency=${availableParallelism() + 1}`,
      ...given.filter(isOption),
      ...files,
    ],
    {
      cwd: root,
      stdio: "inherit",
      // Most of a short file's time goes into compiling what the others have imported, too.
      env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/troupe-tests"), ...process.env },
    },
  );
  return status ?? 1;
}
