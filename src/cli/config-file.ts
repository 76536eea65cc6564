import { lstatSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../core/contract/index.ts";
import { usage } from "./exit-code.ts";
import { holdOutput } from "./hold-output.ts";
import { importModule } from "./load.ts";

const NAMES = ["troupe.config.ts", "troupe.config.mts", "troupe.config.js", "troupe.config.mjs"];

/** The settings of a project, as its file gives them. */
export interface ConfigFile {
  readonly path: string;
  readonly settings: JsonObject;
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** In `folder`, or the nearest of those around it, up to the root of its repository. */
export const findConfig = (folder: string): string | undefined => {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const path = NAMES.map((name) => join(at, name)).find(isFile);
    if (path !== undefined) {
      if (at !== resolve(folder)) refuseForeign(path);
      return path;
    }
    if (lstatSync(join(at, ".git"), { throwIfNoEntry: false }) !== undefined || dirname(at) === at) return undefined;
  }
};

/** A file that the user did not name and is not in the current folder is code of the user or of the system, or is not run. */
const refuseForeign = (path: string): void => {
  const { uid, mode } = statSync(path);
  const user = process.geteuid?.() ?? uid;
  if ((uid === user || uid === 0) && (mode & 0o002) === 0) return;
  throw usage(
    `${path} belongs to another user, or others may write it, so it is not run from a folder below it: run the command in ${dirname(path)}, name the file with --config, or give --no-config.`,
  );
};

/** Runs the file; what it prints goes to standard error. Throws a `CommandError` where it has no settings. */
export const readConfig = async (path: string): Promise<ConfigFile> => {
  if (!isFile(path)) throw usage(`There is no file ${path}: name a troupe.config.ts with --config.`);
  const held = holdOutput();
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await importModule(path, 0);
  } finally {
    held.release();
  }
  const { default: settings } = module;
  if (!isJsonObject(settings))
    throw usage(`${path} has no default export that is settings: export default defineConfig({ modules: "./door.ts" }).`);
  return { path, settings };
};
