// Runs the tests: all, or the files that are named. What begins with a dash is an option of `node --test`.
import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const given = process.argv.slice(2);
const isOption = (arg: string): boolean => arg.startsWith("-");
const named = given.filter((arg) => !isOption(arg));
const all = ["src/**/*.test.ts", "test/**/*.test.ts", "examples/**/*.test.ts"];

const { status } = spawnSync(
  process.execPath,
  [
    "--conditions=troupe-source",
    "--test",
    "--test-timeout=300000",
    // By default one processor is left for the runner, which hardly needs it: of two that would be half.
    `--test-concurrency=${availableParallelism()}`,
    ...given.filter(isOption),
    ...(named.length > 0 ? named : all),
  ],
  {
    cwd: root,
    stdio: "inherit",
    // Each file is a process, and most of a short one's time goes into compiling what the others have imported, too.
    env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/troupe-tests"), ...process.env },
  },
);
process.exitCode = status ?? 1;
