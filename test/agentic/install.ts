import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const here = import.meta.dirname;

/** The versions of `@adobe/data` this folder's package.json pins. */
export const VERSIONS = ["0.9.45", "0.9.56", "0.10.1"] as const;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

const isThere = (version: string): boolean => {
  try {
    const found: unknown = JSON.parse(readFileSync(join(here, "node_modules", `adobe-data-${version}`, "package.json"), "utf8"));
    return isRecord(found) && found["version"] === version;
  } catch {
    return false;
  }
};

/** Installs what is absent or of another version than pinned. Throws when that fails: nothing here may be skipped. */
export const install = (): void => {
  if (!VERSIONS.every(isThere))
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
};

// Older versions open a browser's cache as they are loaded, and Node has none.
if (!("caches" in globalThis)) {
  const cache = { match: async () => undefined, put: async () => undefined, delete: async () => false, keys: async () => [] };
  Object.assign(globalThis, { caches: { open: async () => cache } });
}

/** One of its modules; its types are not known where it is not installed. */
export const moduleOf = async (
  version: string,
  name: "ecs" | "math" | "observe" | "service",
): Promise<Readonly<Record<string, unknown>>> => {
  const module: unknown = await import(pathToFileURL(join(here, "node_modules", `adobe-data-${version}`, "dist", name, "index.js")).href);
  if (!isRecord(module)) throw new Error(`adobe-data-${version} has no ${name}`);
  return module;
};
