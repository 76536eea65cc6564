import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The same place from the sources and from what is bundled of them, which lies as deep as this file. */
export const PROGRAM = fileURLToPath(new URL("../../bin/troupe.js", import.meta.url));

/** A package that only some need: the one of the project in `directory`, else the one beside Troupe. Undefined: neither has it. */
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
