import type { Command } from "commander";
import { type Place, placed } from "./actor-options.ts";

export interface ExportOptions extends Place {
  readonly kind?: string;
}

export interface ImportOptions extends Place {
  readonly dryRun?: boolean;
  /** `--no-messages` */
  readonly messages: boolean;
}

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
    .option("--no-messages", "leave out messages that wait and dead letters, which run as whomever they name")
    .action(async (file: string, options: ImportOptions) => (await import("./import.ts")).importAll(file, options));
};
