// Owns: the page's built files. Does not own: building them (console/).

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One file of the page, as it is sent. */
export interface ConsoleAsset {
  readonly type: string;
  readonly body: Uint8Array;
  /** Its name has a hash of its contents. */
  readonly immutable: boolean;
}

/** The page's files. */
export interface ConsoleAssets {
  /** By the path below the console's own, such as `/assets/main-1a2b.js`. Pages of the application are all its `index.html`. */
  find(path: string): ConsoleAsset | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json",
  woff2: "font/woff2",
};

/** The page as the package has it. Undefined: this is a checkout in which it was not built. `path`: where the console is served. */
export async function consolePage(path?: string): Promise<ConsoleAssets | undefined> {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const isPackage = existsSync(join(folder, "package.json"));
    const page = join(folder, "dist/console");
    if (isPackage) return existsSync(join(page, "index.html")) ? await readAssets(page, path) : undefined;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Reads all files of a folder, once: requests then touch no path of the disk. Throws where there is no index.html. `path`: where the
 * console is served.
 */
export async function readAssets(folder: string, path = "/console"): Promise<ConsoleAssets> {
  const files = new Map<string, ConsoleAsset>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    const name = file.slice(folder.length).replaceAll("\\", "/");
    const type = TYPES[entry.name.slice(entry.name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    files.set(name, { type, body: await readFile(file), immutable: name.startsWith("/assets/") });
  }
  const built = files.get("/index.html");
  if (built === undefined) throw new Error(`There is no index.html in ${folder}: run "npm run console:build".`);
  // Its links are relative, but it is served at every path of the application.
  const text = new TextDecoder().decode(built.body).replaceAll('="./', `="${path}/`);
  const index = { ...built, body: new TextEncoder().encode(text) };
  files.set("/index.html", index);
  return { find: (name) => files.get(name) ?? (name.startsWith("/assets/") ? undefined : index) };
}
