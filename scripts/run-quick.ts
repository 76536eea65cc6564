// Owns: running test files in a few processes without isolation, and printing what failed. Does not own: which files.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** Tests wait, too: with two processes for each processor, one runs while the other waits. */
const PROCESSES = 2 * availableParallelism();

/** Prints a report of each process, and returns those of the processes that failed. Files are paths from the root. */
export async function runQuick(root: string, run: readonly string[]): Promise<readonly string[]> {
  const began = performance.now();
  const reports = mkdtempSync(join(tmpdir(), "troupe-quick-"));
  try {
    // Neighbours take similar times, so each process gets every n-th file.
    const groups = Array.from({ length: PROCESSES }, (_, n) => run.filter((_file, index) => index % PROCESSES === n));
    const failures = await Promise.all(groups.map((files, n) => runGroup(root, files, join(reports, `${n}`))));
    const wall = ((performance.now() - began) / 1000).toFixed(0);
    console.log(`${run.length} files in ${wall} s.`);
    return failures.filter((failure) => failure !== undefined);
  } finally {
    rmSync(reports, { recursive: true, force: true });
  }
}

async function runGroup(root: string, files: readonly string[], report: string): Promise<string | undefined> {
  const child = spawn(
    process.execPath,
    [
      "--conditions=troupe-source",
      "--test",
      "--test-isolation=none",
      // What a file leaves open would otherwise keep the process from ending.
      "--test-force-exit",
      "--test-timeout=120000",
      `--test-reporter=${join(root, "scripts/quick-reporter.ts")}`,
      `--test-reporter-destination=${report}`,
      ...files,
    ],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/troupe-tests"), ...process.env },
    },
  );
  const ended = new Promise<number | null>((done) => {
    child.on("close", done);
  });
  const printed = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended;
  // What tests print matters only if the process fails.
  if (code !== 0) console.log(printed.join(""));
  const summary = readFileSync(report, "utf8");
  console.log(summary);
  return code === 0 ? undefined : summary;
}
