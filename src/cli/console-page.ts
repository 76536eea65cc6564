import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type ConsoleAssets, consolePage, readAssets } from "../bridges/console/index.ts";
import { systemClock } from "../core/contract/index.ts";
import { describeFailure } from "./exit-code.ts";
import type { ServerLog } from "./log.ts";

const run = promisify(execFile);
/** Of a checkout. A package has no sources, and its command is bundled into dist/cli. */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const BUILD = join(ROOT, "scripts/build-console.ts");
/** What the page and the description of its API are made of. */
const SOURCES = ["console", "src/bridges/console/shapes", "src/cli/install/entries.ts", "package-lock.json"].map((path) =>
  join(ROOT, path),
);
/** Not dist, which belongs to the package's build. */
const BUILT = join(ROOT, "node_modules/.cache/troupe/console");
/** A build takes seconds; a lock that is older was left behind. */
const LOCK_MS = 120_000;

/** When the newest file was changed; 0 where there is none. */
const newest = (path: string): number => {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) return found?.mtimeMs ?? 0;
  return readdirSync(path).reduce((most, name) => Math.max(most, newest(join(path, name))), found.mtimeMs);
};

const isBuilt = (): boolean => newest(join(BUILT, "index.html")) > Math.max(...SOURCES.map(newest));

/** Several servers may start at once: one builds, and the others wait for it. */
const build = async (log: ServerLog): Promise<void> => {
  const lock = `${BUILT}.lock`;
  mkdirSync(dirname(lock), { recursive: true });
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      // A checkout that may not be written.
      if (!isTaken(error)) throw error;
      if (ageOf(lock) > LOCK_MS) rmSync(lock, { recursive: true, force: true });
      await sleep(100);
    }
  }
  try {
    if (isBuilt()) return;
    log("info", "console-building", {});
    await run(process.execPath, [BUILD, BUILT], { cwd: ROOT });
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
};

const isTaken = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST";

const ageOf = (path: string): number => {
  const now = systemClock.now();
  return now - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now);
};

/**
 * The page's files. A checkout builds them on first use, and when their sources have changed. Undefined: they cannot be built, as the
 * log says, so there is only the API.
 */
export const consoleFiles = async (log: ServerLog): Promise<ConsoleAssets | undefined> => {
  if (!existsSync(BUILD)) return await consolePage();
  try {
    if (!isBuilt()) await build(log);
    return await readAssets(BUILT);
  } catch (error) {
    log("warn", "console-not-built", { why: describeFailure(error).message, what: 'The console has its API and no page: run "npm ci".' });
    return undefined;
  }
};
