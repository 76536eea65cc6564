// Owns: where this package is, and packages that only some commands need. Does not own: what is done with them.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The `troupe` program. The relative path holds for the sources and for the bundle in dist/cli, which is as deep as this file. */
export const PROGRAM = fileURLToPath(new URL("../../bin/troupe.js", import.meta.url));

/** The folder of this package. */
export const PACKAGE = dirname(dirname(PROGRAM));

/** An optional package: that of the project in `directory`, else that of Troupe's own installation. Undefined if both are missing. */
export const optionalPackage = async (
  name: string,
  directory = process.cwd(),
): Promise<{ readonly path: string; readonly loaded: unknown } | undefined> => {
  for (const from of [join(directory, "package.json"), import.meta.url]) {
    const path = resolved(name, from);
    if (path !== undefined) return { path, loaded: await import(pathToFileURL(path).href) };
  }
  return undefined;
};

const resolved = (name: string, from: string): string | undefined => {
  try {
    return createRequire(from).resolve(name);
  } catch {
    return undefined;
  }
};
