// Owns: which files and installed packages go into a bundle, and where each goes in it. Does not own: the archive (commands/bundle.ts).
import { existsSync, globSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { isJsonObject, type JsonObject } from "../core/contract/index.ts";
import { getOwn, tryParseJson } from "../core/contract/internal.ts";
import { usage } from "./command-error.ts";

/** Where a file of the project goes. Throws a `CommandError` for one that is not below the project's folder. */
export const inProject = (file: string, folder: string): string => {
  const within = relative(realpathSync(folder), file).split(sep).join("/");
  if (within === ".." || within.startsWith("../") || within === file)
    throw usage(`${file} is outside of the project ${folder}, so it cannot be bundled.`);
  return within;
};

const isHidden = (path: string): boolean => path.split("/").some((part) => part.startsWith(".") || part === "node_modules");

/** Refuses files with secrets: anyone can unpack a bundle. */
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

/** A package that is copied. */
interface Placed {
  readonly name: string;
  /** Where it is. */
  readonly from: string;
  /** Where it goes: `node_modules/a`, or below the package that needs another version: `node_modules/b/node_modules/a`. */
  readonly to: string;
}

const manifestIn = (folder: string): JsonObject => {
  const manifest = tryParseJson(readFileSync(join(folder, "package.json"), "utf8"));
  if (!isJsonObject(manifest)) throw usage(`${folder}/package.json is not JSON.`);
  return manifest;
};

const namesIn = (manifest: JsonObject, property: string): readonly string[] => {
  const listed = manifest[property];
  return isJsonObject(listed) ? Object.keys(listed) : [];
};

/** Peer dependencies that npm installs by itself: all but the optional ones. */
const peersIn = (manifest: JsonObject): readonly string[] => {
  const { peerDependenciesMeta: meta } = manifest;
  return namesIn(manifest, "peerDependencies").filter((name) => {
    const how = isJsonObject(meta) ? getOwn(meta, name) : undefined;
    return !isJsonObject(how) || how["optional"] !== true;
  });
};

/** Where Node would find the package, whatever it exports. */
const installed = (name: string, from: string): string | undefined => {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return realpathSync(found);
    if (dirname(folder) === folder) return undefined;
  }
};

/** A package whose dependencies are wanted, and where it is in the new folder; empty: at its top. */
export interface Root {
  readonly from: string;
  readonly to: string;
  /** Of its own dependencies, those that are wanted. Default: all. */
  readonly only?: readonly string[];
}

/** All peer dependencies that a package names. */
export const peersOf = (folder: string): readonly string[] => namesIn(manifestIn(folder), "peerDependencies");

/** What Node would find by this name from that folder. */
const visibleFrom = (placed: ReadonlyMap<string, Placed>, at: string, name: string): Placed | undefined => {
  for (let folder = at; folder !== ""; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const found = placed.get(`${folder}/node_modules/${name}`);
    if (found !== undefined) return found;
  }
  return placed.get(`node_modules/${name}`);
};

/** All that these packages depend on, peers included, and what that depends on. Optional ones that are missing are left out. Throws a `CommandError` for others. */
export const dependenciesOf = (roots: readonly Root[]): readonly Placed[] => {
  const placed = new Map<string, Placed>();
  const visit = ({ from, to: at, only }: Root): void => {
    const manifest = manifestIn(from);
    const optional = namesIn(manifest, "optionalDependencies");
    const needed = namesIn(manifest, "dependencies").filter((name) => !optional.includes(name));
    const added: Root[] = [];
    for (const name of new Set([...needed, ...optional, ...peersIn(manifest)])) {
      // Served modules import the Troupe that serves them.
      if (name === "troupe" || only?.includes(name) === false) continue;
      const source = installed(name, from);
      if (source === undefined) {
        // A peer that is missing was left out on purpose (npm's --legacy-peer-deps): the program runs without it.
        if (!needed.includes(name)) continue;
        throw usage(`The package ${name}, which ${from} depends on, is not installed: run npm install first.`);
      }
      const visible = visibleFrom(placed, at, name);
      if (visible?.from === source) continue;
      const to = visible === undefined || at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
      placed.set(to, { name, from: source, to });
      added.push({ from: source, to });
    }
    // Only now, when all direct dependencies have their places: those of the first must not take the place of a later one.
    for (const one of added) visit(one);
  };
  for (const root of roots) visit(root);
  return [...placed.values()];
};

/** Files of a package that Node does not need at run time. */
const NOT_RUN = /\.(?:map|d\.[cm]?ts|md|markdown|flow)$|(?:^|\/)(?:test|tests|__tests__)\//i;

/** The files of a package that can run, relative to it. Packages inside it are others. */
export const filesOf = (folder: string): readonly string[] =>
  globSync("**/*", { cwd: folder, exclude: ["node_modules"] })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => (!NOT_RUN.test(file) || /licen[cs]e/i.test(file)) && statSync(join(folder, file)).isFile())
    .toSorted();
