import { type Command, Option } from "commander";
import { type EngineAddress, parseEngine } from "./cluster/engine-address.ts";
import { type Common, common } from "./options.ts";

/** Where actors are: in a data directory, or on a Restate server. */
interface Place extends Common {
  readonly engine?: EngineAddress;
  readonly secretFile?: string;
}

export interface ExportOptions extends Place {
  readonly kind?: string;
}

export interface ImportOptions extends Place {
  readonly dryRun?: boolean;
}

const placed = (command: Command): Command =>
  common(command)
    .addOption(
      new Option("--engine <address>", "instead: a Restate server whose nodes run, restate://host[:port][?admin=url]")
        .argParser((text: string) => parseEngine(text))
        .conflicts("data"),
    )
    .option("--secret-file <file>", "with --engine, where kinds have secrets: what all nodes share (default: TROUPE_CLUSTER_SECRET)");

export const registerExportCommands = (program: Command): void => {
  placed(
    program
      .command("export")
      .description(
        "Write all actors of a data directory or a cluster, their history, replies and messages, as one stream. It holds what they hold: keep it as secret.",
      )
      .argument("[file]", "compressed if it ends in .gz; - is standard output", "-"),
  )
    .option("--kind <kind>", "only actors of this kind, and messages to them")
    .action(async (file: string, options: ExportOptions) => (await import("./export.ts")).exportAll(file, options));

  placed(
    program
      .command("import")
      .description("Take such a stream into a data directory on which no server runs, or into a cluster, every chain verified.")
      .argument("[file]", "compressed if it ends in .gz; - is standard input", "-"),
  )
    .option("--dry-run", "only verify: nothing is written")
    .action(async (file: string, options: ImportOptions) => (await import("./import.ts")).importAll(file, options));
};
