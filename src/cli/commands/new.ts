// Owns: `troupe new`: its options and questions, the files of a new project, npm install and git init. Does not own: the package
// create-troupe (create-main.ts).
import { spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { counted, didYouMean } from "../../core/contract/internal.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { whyUnwritable } from "../files.ts";
import { PACKAGE } from "../installed-packages.ts";
import { output, paint } from "../output.ts";

export const TEMPLATES = {
  actor: "a stateful actor: a shopping list",
  server: "tools, resources and prompts without state",
  team: "users with roles, tasks, reminders and a search",
  guest: "a WebAssembly actor in AssemblyScript",
} as const;

export type Template = keyof typeof TEMPLATES;

interface NewOptions {
  readonly template?: string;
  readonly troupe?: string;
  readonly yes?: boolean;
  readonly install: boolean;
  readonly git: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** The name in the templates; each of their texts gets the project's name in its place. Also the default of that name. */
const PLACEHOLDER = "my-troupe";
const DEFAULT_TEMPLATE = "actor";
const names = Object.keys(TEMPLATES);

/** Asks for missing values. Without a terminal, or with --yes or --json, uses the defaults. */
const answers = async (directory: string | undefined, { template, yes, json }: NewOptions) => {
  const isInteractive = yes !== true && json !== true && process.stdin.isTTY && process.stderr.isTTY;
  if (!isInteractive) return { directory: directory ?? PLACEHOLDER, template: templateOf(template ?? DEFAULT_TEMPLATE) };
  const given = template === undefined ? undefined : templateOf(template);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const cancelled = new Promise<never>((_, reject) =>
    terminal.once("close", () => reject(new CommandError(EXIT.failed, "INTERRUPTED", "Interrupted: nothing was made."))),
  );
  cancelled.catch(() => undefined);
  const ask = async (question: string, otherwise: string): Promise<string> =>
    (await Promise.race([terminal.question(`${question} (${otherwise}): `), cancelled])).trim() || otherwise;
  try {
    return {
      directory: directory ?? (await ask("Folder of the project", PLACEHOLDER)),
      template: given ?? (await askTemplate(ask)),
    };
  } finally {
    terminal.close();
  }
};

const askTemplate = async (ask: (question: string, otherwise: string) => Promise<string>): Promise<Template> => {
  for (const [name, description] of Object.entries(TEMPLATES)) process.stderr.write(`  ${name.padEnd(8)}${description}\n`);
  return templateOf(await ask("Template", DEFAULT_TEMPLATE));
};

const quoted = (path: string): string => (/^[\w@%+=:,./\\-]+$/.test(path) ? path : JSON.stringify(path));

const notInRegistry = (version: string): string =>
  ` If your registry has no troupe ${version}, run "npm pack" in a clone of Troupe, and "npm install <the tarball>" in the project.`;

/** Declares the argument and the options, and creates the project. `templates`: the folder of the templates. */
export const addNewOptions = (command: Command, version: string, templates = TEMPLATE_FOLDER): Command =>
  command
    .argument("[directory]", `the folder of the project, which also names it (default: ${PLACEHOLDER})`)
    .option("--template <name>", `what to start from: ${names.join(", ")} (default: ${DEFAULT_TEMPLATE})`)
    .option("--troupe <spec>", "the Troupe it depends on: a tarball that npm pack made, or a version (default: this version)")
    .option("--yes", "ask nothing: what is not given has its default")
    .option("--no-install", "do not run npm install")
    .option("--no-git", "do not make a git repository")
    .option("--force", "write into a folder that is not empty, and overwrite files of the same names")
    .option("--json", "machine-readable: one line with what was made")
    .action(async (given: string | undefined, options: NewOptions) => {
      const troupe = troupeSource(options.troupe, version);
      if (given !== undefined) projectName(given);
      const { directory, template } = await answers(given, options);
      const to = output(options);
      const files = makeProject({ directory, template, troupe, force: options.force === true, templates });
      const place = relative("", directory) || ".";
      to.text(
        () => `Made ${paint("bold", projectName(directory))} from the template ${template}: ${counted(files.length, "file")} in ${place}.`,
      );
      const git = options.git && (await initGit(directory));
      if (options.install) to.note("Installing …");
      const installed = options.install && (await installPackages(directory));
      const next = [...(place === "." ? [] : [`cd ${quoted(place)}`]), ...(installed ? [] : ["npm install"]), "npm start"];
      if (options.install && !installed)
        throw new CommandError(
          EXIT.failed,
          "INSTALL_FAILED",
          `The project is in ${resolve(directory)}, but npm install failed there, for the reason above.${options.troupe === undefined ? notInRegistry(version) : ""} Then run: ${next.join(" && ")}.`,
        );
      to.show({ directory: resolve(directory), name: projectName(directory), template, files, installed, git, next }, () =>
        [
          "",
          "Next:",
          ...next.map((line) => `  ${paint("cyan", line)}`),
          "",
          "README.md says how to add it to a client, and how to go on.",
        ].join("\n"),
      );
    });

export const register = (program: Command, version: string): void => {
  addNewOptions(program.command("new").description("Make a new project from a template."), version);
};

type Run = Pick<SpawnOptions, "stdio" | "shell">;

/** Output goes to standard error, for people. */
const VISIBLE: Run = { stdio: ["ignore", 2, 2] };

/** True if it ended with exit code 0. */
const run = async (command: string, args: readonly string[], cwd: string, options = VISIBLE): Promise<boolean> => {
  const child = spawn(command, args, { cwd, ...options });
  try {
    const [code] = await once(child, "exit");
    return code === 0;
  } catch {
    if (options === VISIBLE) process.stderr.write(`${command} cannot be started: is it installed?\n`);
    return false;
  }
};

/** Runs npm install, with the npm that started this process if there is one. */
const installPackages = (directory: string): Promise<boolean> => {
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = process.env["npm_execpath"];
  if (npm !== undefined && /npm-cli\.[cm]?js$/.test(npm)) return run(process.execPath, [npm, ...args], directory);
  // On Windows npm is a script of the shell.
  return run("npm", args, directory, { ...VISIBLE, shell: process.platform === "win32" });
};

/** Creates a repository unless the folder is in one. False if that fails. */
const initGit = async (directory: string): Promise<boolean> =>
  (await run("git", ["rev-parse", "--git-dir"], directory, { stdio: "ignore" })) || run("git", ["init", "--quiet"], directory);

/** Files that all templates have. A template's own file of the same name wins. */
const COMMON = "common";
const LONGEST_NAME = 214;
/** Entries that do not count: a new repository, and files of the system. */
const IGNORED = new Set([".git", ".DS_Store", "Thumbs.db"]);

/** In the package and in the sources, which lie equally deep. */
export const TEMPLATE_FOLDER = join(PACKAGE, "create-troupe/templates");

export interface NewProject {
  readonly directory: string;
  readonly template: Template;
  /** The dependency in package.json: a range, or a tarball to copy into the project. */
  readonly troupe: { readonly range: string } | { readonly tarball: string };
  /** Overwrites files of the same names. */
  readonly force: boolean;
  readonly templates: string;
}

const isTemplate = (name: string): name is Template => Object.hasOwn(TEMPLATES, name);

/** Throws a `CommandError` with the name that was probably meant. */
export const templateOf = (name: string): Template => {
  if (isTemplate(name)) return name;
  throw new CommandError(
    EXIT.usage,
    "UNKNOWN_TEMPLATE",
    `There is no template ${JSON.stringify(name)}${didYouMean(name, names)} There are ${names.join(", ")}.`,
  );
};

const nameProblem = (name: string): string | undefined => {
  if (name.length > LONGEST_NAME) return `it is longer than ${LONGEST_NAME} characters`;
  if (name === "troupe" || name === "node_modules") return "npm cannot install such a project";
  if (!/^[a-z0-9][a-z0-9._-]*$/.test(name))
    return "npm takes lower-case letters, digits, dots, hyphens and underscores, and a letter or digit first";
  return undefined;
};

/** The name of the project is that of its folder. Throws a `CommandError` for a name that npm does not accept. */
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

/** Parses `--troupe`: a local tarball, or a version for npm. Throws a `CommandError`. */
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

/** Paths below the folder. Not by a glob, which leaves out names that begin with a dot. */
const filesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));

/** npm leaves .gitignore out of a package, so the templates call it _gitignore. */
const nameInProject = (file: string): string => (basename(file) === "_gitignore" ? join(dirname(file), ".gitignore") : file);

/** The source of each file, by its path in the project. */
const sourcesOf = (templates: string, template: Template): ReadonlyMap<string, string> =>
  new Map(
    [COMMON, template].flatMap((name) => {
      const folder = join(templates, name);
      return filesIn(folder).map((file): [string, string] => [nameInProject(file), join(folder, file)]);
    }),
  );

const contentsOf = (source: string, name: string, troupe: string): string => {
  // Some clients allow no dots in a server's name, and at most 64 characters.
  const server = name.replaceAll(".", "-").slice(0, 64);
  const text = readFileSync(source, "utf8")
    .replaceAll(`--name ${PLACEHOLDER}`, `--name ${server}`)
    .replaceAll(PLACEHOLDER, basename(source).endsWith("mcp.json") ? server : name);
  if (basename(source) !== "package.json") return text;
  // A function, since a file name may contain `$`.
  return text.replace(/"troupe": "[^"]*"/, () => `"troupe": ${JSON.stringify(troupe)}`);
};

/** Compares without following a link at the end of the path. */
const isSameFile = (path: string, other: string): boolean =>
  join(realpathSync(dirname(path)), basename(path)) === join(realpathSync(dirname(other)), basename(other));

/** Throws a `CommandError` if a folder is a link to a place outside the project: the files in a folder may be someone else's. */
const checkWithin = (directory: string, folder: string): void => {
  if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return checkWithin(directory, dirname(folder));
  const way = relative(realpathSync(directory), realpathSync(folder));
  if (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return;
  throw usage(`${folder} is a link that leads out of the project: remove it, or name a new folder.`);
};

/** Writes the files and returns their paths in the project. Throws a `CommandError` if something would be overwritten. */
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
      // Removed first, so that a link is replaced and not followed.
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
