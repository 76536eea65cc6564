import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { groupsFor } from "./command-groups.ts";
import { describeFailure, EXIT, type ExitCode } from "./exit-code.ts";
import { takeLoss } from "./noted-loss.ts";
import { bearGoneReaders, failureLine, print, printed, whenUnwritable } from "./output.ts";
import { whyUnreadable } from "./text-file.ts";

const version = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "0";
};

/** The whole command line. Settles with the exit code (docs/guide/cli.md) when its result has left this process. */
export const main = async (argv: readonly string[]): Promise<ExitCode> => {
  const code = await run(argv);
  await printed();
  return code;
};

const run = async (argv: readonly string[]): Promise<ExitCode> => {
  const code = await runCommand(argv);
  const loss = takeLoss();
  if (loss === undefined) return code;
  process.stderr.write(`${failureLine(argv.includes("--json"), loss.code, loss.message)}\n`);
  return EXIT.unverified;
};

const runCommand = async (argv: readonly string[]): Promise<ExitCode> => {
  bearGoneReaders(process.stderr);
  // Machines asked for JSON: the failure is JSON too, on the error stream.
  const json = argv.includes("--json");
  const failed = (code: string, message: string): string => failureLine(json, code, message);
  whenUnwritable((error) => {
    process.stderr.write(`${failed("FAILED", `The result cannot be written to standard output: ${whyUnreadable(error)}.`)}\n`);
    process.exit(EXIT.failed);
  });
  const program = new Command("troupe")
    .description("Durable actors behind the Model Context Protocol.")
    .version(version())
    .configureOutput({
      writeOut: print,
      outputError: (text, write) =>
        write(json ? `${failed("USAGE", text.replace(/^error: /, "").trim())}\n` : text.replace(/^error: /, "troupe: ")),
    })
    .showHelpAfterError(json ? false : "(add --help for the options)")
    .showSuggestionAfterError()
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  for (const group of groupsFor(argv)) await group.register(program, version());
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: "user" });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const failure = describeFailure(error);
    process.stderr.write(`${failed(failure.code, failure.message)}\n`);
    if (process.env["TROUPE_DEBUG"] !== undefined && error instanceof Error) process.stderr.write(`${error.stack ?? ""}\n`);
    return failure.exit;
  }
};
