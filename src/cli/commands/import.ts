// Owns: `troupe import`. Does not own: the format (core/chain), reading the file (open-store.ts), what is reported (transfer-report.ts).
import type { Command } from "commander";
import type { DumpProgress } from "../../core/chain/index.ts";
import type { Importer } from "../../core/contract/index.ts";
import { type Target, addTargetOptions, clusterTarget } from "../actor-options.ts";
import { CommandError, describeFailure } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { reportsLostLog } from "../lost-log.ts";
import { openWhenUnlocked, readChunks } from "../open-store.ts";
import { copiesNeeded, copiesText, countsText, MessageViewers, ProgressLine, showResult } from "../transfer-report.ts";

interface ImportOptions extends Target {
  readonly dryRun?: boolean;
  /** `--no-messages` */
  readonly messages: boolean;
}

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("import")
      .description("Take such a stream into a data directory on which no server runs, or into a cluster, every chain verified.")
      .argument("[file]", "compressed if it ends in .gz; - is standard input", "-"),
  )
    .option("--dry-run", "only verify: nothing is written")
    .option("--no-messages", "leave out messages that wait and dead letters, which run as whomever they name")
    .action(importAll);
};

const importAll = async (file: string, options: ImportOptions): Promise<void> => {
  const { json = false, dryRun = false, messages: takesMessages } = options;
  const { noProgress, readDump } = await import("../../core/chain/index.ts");
  const viewers = new MessageViewers();
  const engine = clusterTarget(options);
  const directory = new DataDirectory(options.data);
  const progress = noProgress();
  const line = new ProgressLine(dryRun ? "verifying" : "importing", json);
  const open = async (): Promise<Importer> => {
    if (dryRun) return DISCARDING_IMPORTER;
    if (engine !== undefined) return (await import("../../hosts/restate/index.ts")).restateImporter(engine);
    directory.create();
    const { sqliteImporter } = await import("../../core/store/index.ts");
    return openWhenUnlocked(() => sqliteImporter({ directory: directory.path, ...reportsLostLog }), directory.control);
  };
  // Messages that are left out are still read, so the reader counts them.
  const taken = (stored: DumpProgress["stored"]): DumpProgress["stored"] =>
    takesMessages ? stored : { ...stored, messages: 0, letters: 0 };
  // Opened once before reading, so that a locked or damaged store fails at once, not after a large file.
  if (!dryRun && engine === undefined && directory.holdsActors()) await (await open())[Symbol.asyncDispose]();
  try {
    await readDump(
      readChunks(file),
      async () => viewers.into(await open(), !takesMessages),
      progress,
      () => line.update(progress.read),
    );
    // Only at the end: an actor that ran earlier could miss actors still to be imported.
    if (!dryRun && engine !== undefined) await (await import("../../hosts/restate/index.ts")).resumeImported(engine);
  } catch (error) {
    throw importFailure(error, { ...progress, stored: taken(progress.stored) }, dryRun, engine !== undefined);
  } finally {
    line.end();
    viewers.report(!takesMessages, json);
  }
  const { there, read } = progress;
  const imported = taken(progress.stored);
  if (dryRun) return showResult({ verified: read }, `Sound: ${countsText(read)}. Nothing was written.`, json, false);
  const copies = engine === undefined && directory.holdsActors() && !directory.holdsContents() ? await copiesNeeded(directory) : [];
  const value = { imported, there, ...(copies.length === 0 ? {} : { beside: copies }) };
  showResult(value, `Imported ${countsText(imported)}${existingText(there)}.${copiesText(copies)}`, json, false);
};

const existingText = (there: DumpProgress["there"]): string =>
  there.actors + there.messages + there.letters === 0 ? "" : `; of these were there already: ${countsText(there)}`;

/** Stores nothing, for a dry run, which only verifies. */
const DISCARDING_IMPORTER: Importer = {
  actor: async () => undefined,
  message: async () => true,
  letter: async () => true,
  flush: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

/** Adds to an error what was imported before it. */
const importFailure = (error: unknown, { stored, read }: DumpProgress, dryRun: boolean, rests: boolean): unknown => {
  const { exit, code, message } = describeFailure(error);
  if (dryRun) return new CommandError(exit, code, `${message} Sound before it: ${countsText(read)}.`);
  const before =
    stored.actors + stored.messages + stored.letters === 0
      ? "Nothing was imported."
      : `Imported before it, and whole: ${countsText(stored)}.`;
  const resting = rests ? " Its messages and wakes wait until an import comes to its end." : "";
  return new CommandError(exit, code, `${message} ${before}${resting}`);
};
