// Owns: the command line: which commands there are, loading the one that is given, and the exit code. Does not own: what a command does
// (commands/), how its errors are reported (run-program.ts).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { getOwn } from "../core/contract/internal.ts";
import { EXIT, type ExitCode } from "./command-error.ts";
import { PACKAGE } from "./installed-packages.ts";
import { takeLostLog } from "./lost-log.ts";
import { failureLine, outputFlushed } from "./output.ts";
import { runProgram } from "./run-program.ts";

interface CommandFile {
  /** Declares the command and its options. What it does is imported when it runs: help loads all of these files. */
  readonly register: (program: Command, version: string) => void;
}

/** In the order of help. Each is loaded when it is used. */
export const COMMANDS: Readonly<Record<string, () => Promise<CommandFile>>> = {
  serve: () => import("./commands/serve.ts"),
  dev: () => import("./commands/dev.ts"),
  config: () => import("./commands/config.ts"),
  install: () => import("./commands/install.ts"),
  new: () => import("./commands/new.ts"),
  bundle: () => import("./commands/bundle.ts"),
  publish: () => import("./commands/publish.ts"),
  console: () => import("./commands/console.ts"),
  actors: () => import("./commands/actors.ts"),
  find: () => import("./commands/find.ts"),
  index: () => import("./commands/indexes.ts"),
  sql: () => import("./commands/sql.ts"),
  state: () => import("./commands/state.ts"),
  call: () => import("./commands/call.ts"),
  stop: () => import("./commands/stop.ts"),
  restart: () => import("./commands/restart.ts"),
  letters: () => import("./commands/letters.ts"),
  chain: () => import("./commands/chain.ts"),
  verify: () => import("./commands/verify.ts"),
  replay: () => import("./commands/replay.ts"),
  diff: () => import("./commands/diff.ts"),
  fork: () => import("./commands/fork.ts"),
  revert: () => import("./commands/revert.ts"),
  checkpoint: () => import("./commands/checkpoint.ts"),
  causes: () => import("./commands/causes.ts"),
  edit: () => import("./commands/edit.ts"),
  prune: () => import("./commands/prune.ts"),
  export: () => import("./commands/export.ts"),
  import: () => import("./commands/import.ts"),
  cluster: () => import("./commands/cluster.ts"),
  packet: () => import("./commands/packet.ts"),
  capabilities: () => import("./commands/capabilities.ts"),
  theater: () => import("./commands/theater.ts"),
  "theater-mcp": () => import("./commands/theater-mcp.ts"),
  docs: () => import("./commands/docs.ts"),
  guests: () => import("./commands/guests.ts"),
};

/** The commands that a command line needs: all if its first word is no command, since help and hints name them all; none for the version. */
export const commandsFor = ([first = ""]: readonly string[]): readonly (() => Promise<CommandFile>)[] => {
  if (first === "--version" || first === "-V") return [];
  const command = getOwn(COMMANDS, first);
  return command === undefined ? Object.values(COMMANDS) : [command];
};

const version = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "0";
};

/** The whole command line. Settles with the exit code (docs/guide/cli.md) when its result has left this process. */
export const main = async (argv: readonly string[]): Promise<ExitCode> => {
  const code = await run(argv);
  await outputFlushed();
  return code;
};

const run = async (argv: readonly string[]): Promise<ExitCode> => {
  const code = await runCommand(argv);
  const loss = takeLostLog();
  if (loss === undefined) return code;
  process.stderr.write(`${failureLine(argv.includes("--json"), loss.code, loss.message)}\n`);
  return EXIT.unverified;
};

const runCommand = (argv: readonly string[]): Promise<ExitCode> => {
  const program = new Command("troupe").description("Durable actors behind the Model Context Protocol.").version(version());
  return runProgram(program, argv, async () => {
    for (const load of commandsFor(argv)) (await load()).register(program, version());
  });
};
