import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
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
  if (!isCurrent()) execFileSync("npm", ["ci", "--ignore-scripts"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
  const resolve = createRequire(join(here, "package.json")).resolve;
  const server = createRequire(resolve("@restatedev/restate-server/package.json")).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  );
  const sdk: unknown = await import(pathToFileURL(join(here, "node_modules/@restatedev/restate-sdk/dist/node.js")).href);
  return { server, sdk };
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
