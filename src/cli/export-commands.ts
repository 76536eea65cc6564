import type { Command } from "commander";
import { type Common, common } from "./options.ts";

export interface ExportOptions extends Common {
  readonly kind?: string;
}

export interface ImportOptions extends Common {
  readonly dryRun?: boolean;
}

export const registerExportCommands = (program: Command): void => {
  common(
    program
      .command("export")
      .description(
        "Write all actors of a data directory, their history, replies and messages, as one stream. It holds what they hold: keep it as secret.",
      )
      .argument("[file]", "compressed if it ends in .gz; - is standard output", "-"),
  )
    .option("--kind <kind>", "only actors of this kind, and messages to them")
    .action(async (file: string, options: ExportOptions) => (await import("./export.ts")).exportAll(file, options));

  common(
    program
      .command("import")
      .description("Take such a stream into a data directory on which no server runs, every chain verified.")
      .argument("[file]", "compressed if it ends in .gz; - is standard input", "-"),
  )
    .option("--dry-run", "only verify: nothing is written")
    .action(async (file: string, options: ImportOptions) => (await import("./import.ts")).importAll(file, options));
};
