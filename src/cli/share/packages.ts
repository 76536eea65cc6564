// Owns: which installed packages a program needs to run, and where each goes in a `node_modules` folder that is made anew. Does not own: writing it.
import { existsSync, globSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { isJsonObject, type JsonObject } from "../../core/contract/index.ts";
import { getOwn, tryParseJson } from "../../core/contract/internal.ts";
import { usage } from "../exit-code.ts";

/** A package that is copied. */
export interface Placed {
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

/** What npm installs next to a package by itself; optional ones only where somebody else depends on them. */
const peersIn = (manifest: JsonObject): readonly string[] => {
  const { peerDependenciesMeta: meta } = manifest;
  return namesIn(manifest, "peerDependencies").filter((name) => {
    const how = isJsonObject(meta) ? getOwn(meta, name) : undefined;
    return !isJsonObject(how) || how["optional"] !== true;
  });
};

/** As Node looks for it, without asking what the package exports. */
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
}

/** What Node would find under this name from there. */
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
  const visit = ({ from, to: at }: Root): void => {
    const manifest = manifestIn(from);
    const optional = namesIn(manifest, "optionalDependencies");
    const needed = namesIn(manifest, "dependencies").filter((name) => !optional.includes(name));
    const added: Root[] = [];
    for (const name of new Set([...needed, ...optional, ...peersIn(manifest)])) {
      // Served modules import the Troupe that serves them.
      if (name === "troupe") continue;
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
    // Visited in the loop above, the first could take the place of a later one, or find what a later one then hides.
    for (const one of added) visit(one);
  };
  for (const root of roots) visit(root);
  return [...placed.values()];
};

/** What a package has for other tools than Node. */
const NOT_RUN = /\.(?:map|d\.[cm]?ts|md|markdown|flow)$|(?:^|\/)(?:test|tests|__tests__)\//i;

/** The files of a package that can run, relative to it. Packages inside it are others. */
export const filesOf = (folder: string): readonly string[] =>
  globSync("**/*", { cwd: folder, exclude: ["node_modules"] })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => (!NOT_RUN.test(file) || /licen[cs]e/i.test(file)) && statSync(join(folder, file)).isFile())
    .toSorted();
