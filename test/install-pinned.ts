import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";

const PAUSE_MS = 200;
/** A process whose lock is older than that was killed. */
const MOST_MS = 240_000;

const manifest = z.object({ dependencies: z.record(z.string(), z.string()) });
const installed = z.object({ version: z.string() });

/**
 * Installs what a folder's package.json pins, if it is missing or of another version. Throws if that fails: nothing may
 * be skipped. A lock excludes other processes: two at once would undo each other, and a partial installation looks complete.
 */
export async function installPinned(folder: string): Promise<void> {
  const lock = join(tmpdir(), `troupe-install-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`);
  while (lockAge(lock) !== undefined || !isCurrent(folder)) {
    if (alone(folder, lock)) return;
    if ((lockAge(lock) ?? 0) > MOST_MS) rmSync(lock, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** Milliseconds since an installation began, or undefined if none is running. */
function lockAge(lock: string): number | undefined {
  const found = statSync(lock, { throwIfNoEntry: false });
  return found === undefined ? undefined : Date.now() - found.mtimeMs;
}

/** Installs unless another process does. */
function alone(folder: string, lock: string): boolean {
  try {
    mkdirSync(lock);
  } catch {
    return false;
  }
  try {
    if (!isCurrent(folder)) renew(folder);
    return true;
  } finally {
    rmdirSync(lock);
  }
}

// Moved into place as a whole, since other tests import packages from this folder during an installation.
function renew(folder: string): void {
  const staging = mkdtempSync(join(folder, ".installing-"));
  try {
    for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(folder, file), join(staging, file));
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: staging, stdio: ["ignore", "ignore", "inherit"] });
    rmSync(join(folder, "node_modules"), { recursive: true, force: true });
    renameSync(join(staging, "node_modules"), join(folder, "node_modules"));
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function isCurrent(folder: string): boolean {
  const read = (...path: string[]): unknown => JSON.parse(readFileSync(join(folder, ...path), "utf8"));
  return Object.entries(manifest.parse(read("package.json")).dependencies).every(([name, version]) => {
    try {
      return installed.parse(read("node_modules", name, "package.json")).version === version;
    } catch {
      return false;
    }
  });
}
