import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";

const here = import.meta.dirname;
const PAUSE_MS = 200;
/** Whoever began that long ago was killed over it. */
const MOST_MS = 240_000;
const lock = join(tmpdir(), `troupe-install-${createHash("sha256").update(here).digest("hex").slice(0, 16)}`);

const manifest = z.object({ dependencies: z.record(z.string(), z.string()) });
const installed = z.object({ version: z.string() });
const read = (...path: string[]): unknown => JSON.parse(readFileSync(join(here, ...path), "utf8"));

/** The programs this folder's package.json pins, to be run by Node. */
export interface ToolServers {
  readonly everything: string;
  readonly memory: string;
}

/** Installs what is absent or of another version than pinned. Throws when that fails: nothing here may be skipped. */
export async function install(): Promise<ToolServers> {
  // Another test file's process may install: two at once would undo each other, and half of it looks like all.
  while (lockAge() !== undefined || !isCurrent()) {
    if (alone()) break;
    if ((lockAge() ?? 0) > MOST_MS) rmSync(lock, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const program = (name: string): string => join(here, "node_modules/@modelcontextprotocol", name, "dist/index.js");
  return { everything: program("server-everything"), memory: program("server-memory") };
}

/** Milliseconds since somebody began to install; undefined while nobody does. */
function lockAge(): number | undefined {
  const found = statSync(lock, { throwIfNoEntry: false });
  return found === undefined ? undefined : Date.now() - found.mtimeMs;
}

/** Installs, where nobody else does. */
function alone(): boolean {
  try {
    mkdirSync(lock);
  } catch {
    return false;
  }
  try {
    if (!isCurrent())
      execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
    return true;
  } finally {
    rmdirSync(lock);
  }
}

const isCurrent = (): boolean =>
  Object.entries(manifest.parse(read("package.json")).dependencies).every(([name, version]) => {
    try {
      return installed.parse(read("node_modules", name, "package.json")).version === version;
    } catch {
      return false;
    }
  });
