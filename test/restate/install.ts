import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const here = import.meta.dirname;

/** What this folder's package.json pins, once it is there. */
export interface Installed {
  /** The server's executable itself: killing a wrapper would leave it running. */
  readonly server: string;
  /** The SDK's module; its types are not known where it is not installed. */
  readonly sdk: unknown;
}

/** Installs this folder's dependencies when they are absent or of other versions than pinned. Throws when that fails: nothing here may be skipped. */
export async function install(): Promise<Installed> {
  // Another test file's process may install: two at once would undo each other, and half of it looks like all.
  while (lockAge() !== undefined || !isCurrent()) {
    if (alone()) break;
    if ((lockAge() ?? 0) > MOST_MS) rmSync(lock, { recursive: true, force: true });
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  const resolve = createRequire(join(here, "package.json")).resolve;
  const server = createRequire(resolve("@restatedev/restate-server/package.json")).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  const sdk: unknown = await import(pathToFileURL(join(here, "node_modules/@restatedev/restate-sdk/dist/node.js")).href);
  return { server, sdk };
}

const PAUSE_MS = 200;
/** Whoever began that long ago was killed over it. */
const MOST_MS = 240_000;
const lock = join(tmpdir(), `troupe-install-${createHash("sha256").update(here).digest("hex").slice(0, 16)}`);

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
    if (!isCurrent()) execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
    return true;
  } finally {
    rmdirSync(lock);
  }
}

function isCurrent(): boolean {
  const pinned: unknown = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  if (!isRecord(pinned) || !isRecord(pinned["dependencies"])) throw new Error("test/restate/package.json names no dependencies.");
  return Object.entries(pinned["dependencies"]).every(([name, version]) => installedVersion(name) === version);
}

function installedVersion(name: string): unknown {
  try {
    const found: unknown = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    return isRecord(found) ? found["version"] : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
