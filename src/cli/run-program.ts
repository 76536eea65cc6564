// Owns: how a command line runs and ends: its errors, its exit code, and when its result has left the process. Does not own: the commands
// (main.ts).
import { type Command, CommanderError } from "commander";
import { describeFailure, EXIT, type ExitCode } from "./command-error.ts";
import { whyUnreadable } from "./files.ts";
import { ignoreWriteErrors, failureLine, print, onWriteFailure } from "./output.ts";

/** Configures the program, registers its commands and runs the one that `argv` names. */
export const runProgram = async (program: Command, argv: readonly string[], register: () => Promise<void> | void): Promise<ExitCode> => {
  ignoreWriteErrors(process.stderr);
  // With --json failures are JSON too, on standard error.
  const json = argv.includes("--json");
  const failureText = (code: string, message: string): string => failureLine(json, code, message);
  onWriteFailure((error) => {
    process.stderr.write(`${failureText("FAILED", `The result cannot be written to standard output: ${whyUnreadable(error)}.`)}\n`);
    process.exit(EXIT.failed);
  });
  program
    .configureOutput({
      writeOut: print,
      outputError: (text, write) =>
        write(json ? `${failureText("USAGE", text.replace(/^error: /, "").trim())}\n` : text.replace(/^error: /, "troupe: ")),
    })
    .showHelpAfterError(json ? false : "(add --help for the options)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  await register();
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = describeFailure(error);
    process.stderr.write(`${failureText(failure.code, failure.message)}\n`);
    if (process.env["TROUPE_DEBUG"] !== undefined && error instanceof Error) process.stderr.write(`${error.stack ?? ""}\n`);
    return failure.exit;
  }
};
