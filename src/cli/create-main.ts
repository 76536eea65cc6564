// Owns: the command of the package create-troupe, which is `troupe new` by itself. Does not own: what it makes (new-command.ts).
import { Command } from "commander";
import type { ExitCode } from "./command-error.ts";
import { addNewOptions } from "./commands/new.ts";
import { outputFlushed } from "./output.ts";
import { runProgram } from "./run-program.ts";

/** `version` is also that of the Troupe that the project depends on. `templates`: the folder of the templates. */
export const createTroupe = async (argv: readonly string[], version: string, templates: string): Promise<ExitCode> => {
  const program = new Command("create-troupe").description("Make a new Troupe project.").version(version);
  const code = await runProgram(program, argv, () => void addNewOptions(program, version, templates));
  await outputFlushed();
  return code;
};
