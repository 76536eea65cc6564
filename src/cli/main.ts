import { readFileSync } from "node:fs";
import { Command } from "commander";
import { EXIT, type ExitCode } from "./command-error.ts";
import { groupsFor } from "./command-groups.ts";
import { takeLoss } from "./open-store.ts";
import { failureLine, printed } from "./output.ts";
import { runProgram } from "./run-program.ts";

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

const runCommand = (argv: readonly string[]): Promise<ExitCode> => {
  const program = new Command("troupe").description("Durable actors behind the Model Context Protocol.").version(version());
  return runProgram(program, argv, async () => {
    for (const group of groupsFor(argv)) await group.register(program, version());
  });
};
