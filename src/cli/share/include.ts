// Owns: which files `troupe bundle --include` adds, and where each goes in the bundle. Does not own: the archive (bundle.ts), packages (packages.ts).
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import { usage } from "../exit-code.ts";

/** Where a file of the project goes. Throws a `CommandError` for one that is not below the project's folder. */
export const inProject = (file: string, folder: string): string => {
  const within = relative(realpathSync(folder), file).split(sep).join("/");
  if (within === ".." || within.startsWith("../") || within === file)
    throw usage(`${file} is outside of the project ${folder}, so it cannot be bundled.`);
  return within;
};

const isHidden = (path: string): boolean => path.split("/").some((part) => part.startsWith(".") || part === "node_modules");

/** Everybody can read what is in a bundle. */
const checkSecret = (file: string, keys: string | undefined): void => {
  if (/^\.env(?:\.|$)/.test(basename(file)))
    throw usage(`--include: ${file} holds secrets, and everybody can unpack a bundle. Name each variable with --env instead.`);
  if (keys !== undefined && existsSync(keys) && realpathSync(keys) === file)
    throw usage(
      `--include: ${file} holds the keys of the server, and everybody can unpack a bundle. Move it to a folder that is not included.`,
    );
};

/** The files of a folder, without hidden ones and installed packages. A link counts as the file that it leads to. */
const filesBelow = (folder: string, project: string): readonly string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry): readonly string[] => {
    if (isHidden(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path, project);
    if (!entry.isSymbolicLink()) return entry.isFile() ? [path] : [];
    if (!existsSync(path)) throw usage(`--include: the link ${path} leads to nothing. Remove it.`);
    const target = realpathSync(path);
    if (isHidden(inProject(target, project)) || !statSync(target).isFile())
      throw usage(`--include: the link ${path} leads to ${target}, which is not bundled. Put a copy there, or remove the link.`);
    return [path];
  });

/** By their path in the bundle, the files that these paths name. `keys`: the file of the server's API keys. Throws a `CommandError`. */
export const includedFiles = (include: readonly string[], folder: string, keys?: string): ReadonlyMap<string, string> => {
  const files = new Map<string, string>();
  const project = realpathSync(folder);
  for (const given of include) {
    if (!existsSync(given)) throw usage(`--include: there is no ${given}.`);
    const path = realpathSync(given);
    if (inProject(path, project) === "")
      throw usage("--include takes a file or a folder in the project, and not all of it: name what the code reads.");
    for (const file of statSync(path).isDirectory() ? filesBelow(path, project) : [path]) {
      checkSecret(realpathSync(file), keys);
      files.set(inProject(file, project), file);
    }
  }
  return files;
};
