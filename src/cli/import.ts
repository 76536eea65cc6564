import { type DumpProgress, noProgress, readDump } from "../core/chain/index.ts";
import type { Importer } from "../core/contract/index.ts";
import { sqliteImporter } from "../core/store/index.ts";
import { restateImporter, resumeImported } from "../hosts/restate/index.ts";
import { transferOf } from "./actor-options.ts";
import { CommandError, describeFailure } from "./command-error.ts";
import { DataDirectory } from "./data-directory.ts";
import type { ImportOptions } from "./export-commands.ts";
import { notesLoss } from "./open-store.ts";
import { chunksOf } from "./read-source.ts";
import { besideExport, besideText, countsText, ImportMessages, ProgressLine, showResult } from "./transfer-report.ts";

export const importAll = async (file: string, options: ImportOptions): Promise<void> => {
  const { json = false, dryRun = false, messages: takesMessages } = options;
  const found = new ImportMessages();
  const engine = transferOf(options);
  const directory = new DataDirectory(options.data);
  const progress = noProgress();
  const line = new ProgressLine(dryRun ? "verifying" : "importing", json);
  const open = async (): Promise<Importer> => {
    if (dryRun) return NOWHERE;
    if (engine !== undefined) return restateImporter(engine);
    directory.create();
    return sqliteImporter({ directory: directory.path, ...notesLoss });
  };
  // Messages that were left out are read, and so counted by whoever reads.
  const taken = (stored: DumpProgress["stored"]): DumpProgress["stored"] =>
    takesMessages ? stored : { ...stored, messages: 0, letters: 0 };
  // Told before anything is read: whoever waits for a large file shall not wait in vain.
  if (!dryRun && engine === undefined && directory.holdsActors()) await (await open())[Symbol.asyncDispose]();
  try {
    await readDump(
      chunksOf(file),
      async () => found.into(await open(), !takesMessages),
      progress,
      () => line.tell(progress.read),
    );
    // Only now: what acts while others are still to come would miss them.
    if (!dryRun && engine !== undefined) await resumeImported(engine);
  } catch (error) {
    throw told(error, { ...progress, stored: taken(progress.stored) }, dryRun, engine !== undefined);
  } finally {
    line.end();
    found.report(!takesMessages, json);
  }
  const { there, read } = progress;
  const imported = taken(progress.stored);
  if (dryRun) return showResult({ verified: read }, `Sound: ${countsText(read)}. Nothing was written.`, json, false);
  const beside = engine === undefined && directory.holdsActors() && !directory.holdsContents() ? await besideExport(directory) : [];
  const value = { imported, there, ...(beside.length === 0 ? {} : { beside }) };
  showResult(value, `Imported ${countsText(imported)}${thereText(there)}.${besideText(beside)}`, json, false);
};

const thereText = (there: DumpProgress["there"]): string =>
  there.actors + there.messages + there.letters === 0 ? "" : `; of these were there already: ${countsText(there)}`;

/** Takes everything and keeps nothing: all that is left is that it was verified. */
const NOWHERE: Importer = {
  actor: async () => undefined,
  message: async () => true,
  letter: async () => true,
  flush: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

/** What went wrong, and what is in the directory all the same. */
const told = (error: unknown, { stored, read }: DumpProgress, dryRun: boolean, rests: boolean): unknown => {
  const { exit, code, message } = describeFailure(error);
  if (dryRun) return new CommandError(exit, code, `${message} Sound before it: ${countsText(read)}.`);
  const before =
    stored.actors + stored.messages + stored.letters === 0
      ? "Nothing was imported."
      : `Imported before it, and whole: ${countsText(stored)}.`;
  const resting = rests ? " Its messages and wakes wait until an import comes to its end." : "";
  return new CommandError(exit, code, `${message} ${before}${resting}`);
};
