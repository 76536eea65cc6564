// Owns: the files of a new project: its name, its template, the Troupe it depends on, and what may be overwritten.
// Does not own: the command line and its questions (new-command.ts), what runs afterwards (set-up-project.ts).
import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { closestMatch } from "../core/contract/internal.ts";
import { CommandError, EXIT, usage } from "./command-error.ts";
import { whyUnwritable } from "./files.ts";

export const TEMPLATES = {
  actor: "a stateful actor: a shopping list",
  server: "tools, resources and prompts without state",
  team: "users with roles, tasks, reminders and a search",
  guest: "a WebAssembly actor in AssemblyScript",
} as const;

export type Template = keyof typeof TEMPLATES;

/** Files that all templates have. A template's own file of the same name wins. */
const COMMON = "common";
/** What the templates are called by; each of their texts gets the project's name in its place. */
const PLACEHOLDER = "my-troupe";
const LONGEST_NAME = 214;
/** A new repository, and what a system puts into a folder by itself. */
const IGNORED = new Set([".git", ".DS_Store", "Thumbs.db"]);

/** In the package and in the sources, which lie equally deep. */
export const TEMPLATE_FOLDER = fileURLToPath(new URL("../../create-troupe/templates", import.meta.url));

export interface NewProject {
  readonly directory: string;
  readonly template: Template;
  /** What package.json names: a range, or the tarball to copy into the project. */
  readonly troupe: { readonly range: string } | { readonly tarball: string };
  /** Overwrites files of the same names. */
  readonly force: boolean;
  readonly templates: string;
}

const isTemplate = (name: string): name is Template => Object.hasOwn(TEMPLATES, name);

/** Throws a `CommandError` with the name that was probably meant. */
export const templateOf = (name: string): Template => {
  if (isTemplate(name)) return name;
  const names = Object.keys(TEMPLATES);
  const meant = closestMatch(name, names);
  const instead = meant === undefined ? "." : `, do you mean ${JSON.stringify(meant)}?`;
  throw new CommandError(
    EXIT.usage,
    "UNKNOWN_TEMPLATE",
    `There is no template ${JSON.stringify(name)}${instead} There are ${names.join(", ")}.`,
  );
};

const nameProblem = (name: string): string | undefined => {
  if (name.length > LONGEST_NAME) return `it is longer than ${LONGEST_NAME} characters`;
  if (name === "troupe" || name === "node_modules") return "npm cannot install such a project";
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
    return "npm takes lower-case letters, digits, dots, hyphens and underscores, and a letter or digit first";
  return undefined;
};

/** The name of the project: that of its folder. Throws a `CommandError` for one that npm does not take. */
export const projectName = (directory: string): string => {
  if (directory === "") throw usage('The name of the folder is empty: name a new folder, or "." for this one.');
  const name = basename(resolve(directory));
  const problem = nameProblem(name);
  if (problem === undefined) return name;
  const better = name
    .toLowerCase()
    .slice(0, LONGEST_NAME)
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "");
  const instead = better === "" || nameProblem(better) !== undefined ? PLACEHOLDER : better;
  throw new CommandError(
    EXIT.usage,
    "PROJECT_NAME",
    `A project cannot be called ${JSON.stringify(name)}: ${problem}. Name the folder ${JSON.stringify(instead)}, for example.`,
  );
};

/** What `--troupe` names: a tarball of this machine, else what npm takes as a version. Throws a `CommandError`. */
export const troupeSource = (given: string | undefined, version: string): NewProject["troupe"] => {
  if (given === undefined) return { range: `^${version}` };
  const isUrl = /^[a-z+]+:/i.test(given) && !/^[a-z]:[\\/]/i.test(given);
  const found = isUrl ? undefined : statSync(given, { throwIfNoEntry: false });
  if (found?.isFile() === true) return { tarball: resolve(given) };
  if (found?.isDirectory() === true)
    throw usage(`--troupe takes a tarball, and ${given} is a folder: run npm pack ${given}, and name the file that it makes.`);
  if (!isUrl && (/[\\/]/.test(given) || given.endsWith(".tgz")))
    throw usage(`--troupe: there is no file ${given}. Name a tarball that npm pack made, or a version.`);
  return { range: given };
};

/** Throws a `CommandError` unless the folder is absent or empty. */
const checkEmpty = (directory: string): void => {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) {
    const parent = statSync(dirname(resolve(directory)), { throwIfNoEntry: false });
    if (parent?.isDirectory() === true && lstatSync(directory, { throwIfNoEntry: false }) !== undefined)
      throw usage(`${directory} is a link that leads to nothing: name a new folder, or remove the link.`);
    return;
  }
  if (!found.isDirectory()) throw usage(`${directory} is a file: name a new folder.`);
  const entries = readdirSync(directory).filter((entry) => !IGNORED.has(entry));
  if (entries.length === 0) return;
  const some = entries.slice(0, 3).join(", ");
  throw new CommandError(
    EXIT.usage,
    "DIRECTORY_NOT_EMPTY",
    `${directory} is not empty: it has ${some}${entries.length > 3 ? ", …" : ""}. Name a new folder, or add --force to overwrite files of the same names.`,
  );
};

/** Paths below the folder. Not by a pattern: those leave out names that begin with a dot. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

/** npm leaves a file named .gitignore out of a package, so the templates name it otherwise. */
const nameInProject = (file: string): string => (basename(file) === "_gitignore" ? join(dirname(file), ".gitignore") : file);

/** By its path in the project, where each file comes from. */
const sourcesOf = (templates: string, template: Template): ReadonlyMap<string, string> =>
  new Map(
    [COMMON, template].flatMap((name) => {
      const folder = join(templates, name);
      return filesIn(folder).map((file): [string, string] => [nameInProject(file), join(folder, file)]);
    }),
  );

const contentsOf = (source: string, name: string, troupe: string): string => {
  // Some clients take no dots in the name of a server, and no longer ones.
  const server = name.replaceAll(".", "-").slice(0, 64);
  const text = readFileSync(source, "utf8")
    .replaceAll(`--name ${PLACEHOLDER}`, `--name ${server}`)
    .replaceAll(PLACEHOLDER, basename(source).endsWith("mcp.json") ? server : name);
  if (basename(source) !== "package.json") return text;
  // A function, since the name of a file may have a `$`.
  return text.replace(/"troupe": "[^"]*"/, () => `"troupe": ${JSON.stringify(troupe)}`);
};

/** Links are not followed: what replaces one leaves the file that it leads to. */
const isSameFile = (path: string, other: string): boolean =>
  join(realpathSync(dirname(path)), basename(path)) === join(realpathSync(dirname(other)), basename(other));

/** A project that comes from elsewhere may have a link in place of a folder. Throws a `CommandError` where it leads out of the project. */
const checkWithin = (directory: string, folder: string): void => {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return checkWithin(directory, dirname(folder));
  const way = relative(realpathSync(directory), realpathSync(folder));
  if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return;
  throw usage(`${folder} is a link that leads out of the project: remove it, or name a new folder.`);
};

/** Writes the files and returns their paths in the project. Throws a `CommandError` where something would be overwritten. */
export const makeProject = ({ directory, template, troupe, force, templates }: NewProject): readonly string[] => {
  const name = projectName(directory);
  if (!force) checkEmpty(directory);
  const write = (file: string, put: (path: string) => void): string => {
    const path = join(directory, file);
    try {
      mkdirSync(directory, { recursive: true });
      checkWithin(directory, dirname(path));
      mkdirSync(dirname(path), { recursive: true });
      if (force && "tarball" in troupe && isSameFile(path, troupe.tarball)) return file;
      // Removed first, so that a link to a file elsewhere is replaced, and not followed.
      if (force) rmSync(path, { force: true });
      put(path);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      throw new CommandError(EXIT.failed, "FAILED", `${path} cannot be written: ${whyUnwritable(error)}.`);
    }
    return file;
  };
  const range = "range" in troupe ? troupe.range : `file:${basename(troupe.tarball)}`;
  const files = [...sourcesOf(templates, template)].map(([file, source]) =>
    write(file, (path) => writeFileSync(path, contentsOf(source, name, range), { flag: "wx" })),
  );
  if ("tarball" in troupe) files.push(write(basename(troupe.tarball), (path) => copyFileSync(troupe.tarball, path)));
  return files.toSorted();
};
