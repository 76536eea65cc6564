// Owns: the command that makes a new project: its options, its questions, and what it prints.
// Does not own: the files (new-project.ts), npm and git (set-up-project.ts), the package create-troupe (create-main.ts).
import { relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "commander";
import { CommandError, EXIT } from "./command-error.ts";
import { makeProject, projectName, type Template, TEMPLATE_FOLDER, templateOf, TEMPLATES, troupeSource } from "./new-project.ts";
import { counted, output, paint } from "./output.ts";
import { initGit, installPackages } from "./set-up-project.ts";

interface NewOptions {
  readonly template?: string;
  readonly troupe?: string;
  readonly yes?: boolean;
  readonly install: boolean;
  readonly git: boolean;
  readonly force?: boolean;
  readonly json?: boolean;
}

const DEFAULT_NAME = "my-troupe";
const DEFAULT_TEMPLATE = "actor";
const names = Object.keys(TEMPLATES);

/** Asks for what was not given. Without a terminal, or with --yes or --json, the defaults hold. */
const answers = async (directory: string | undefined, { template, yes, json }: NewOptions) => {
  const isAsked = yes !== true && json !== true && process.stdin.isTTY && process.stderr.isTTY;
  if (!isAsked) return { directory: directory ?? DEFAULT_NAME, template: templateOf(template ?? DEFAULT_TEMPLATE) };
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
      directory: directory ?? (await ask("Folder of the project", DEFAULT_NAME)),
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

/** Declares the argument and the options, and makes the project. `templates`: the folder that has them. */
export const addNewOptions = (command: Command, version: string, templates = TEMPLATE_FOLDER): Command =>
  command
    .argument("[directory]", `the folder of the project, which also names it (default: ${DEFAULT_NAME})`)
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

export const registerNewCommand = (program: Command, version: string): void => {
  addNewOptions(program.command("new").description("Make a new project from a template."), version);
};
