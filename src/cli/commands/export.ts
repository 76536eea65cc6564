// Owns: `troupe export`: the stream, and the file that is whole or not there. Does not own: the format (core/chain), what is reported
// (transfer-report.ts).
import { createWriteStream, openSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Readable, type Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import type { DumpCounts } from "../../core/chain/index.ts";
import { type Exporter, StoreError } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { syncFolder } from "../../core/store/secret-file.ts";
import { type Target, addTargetOptions, clusterTarget } from "../actor-options.ts";
import { CommandError, EXIT, usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { systemCode, whyUnwritable } from "../files.ts";
import { reportsLostLog } from "../lost-log.ts";
import { copiesNeeded, copiesText, countsText, ProgressLine, showResult } from "../transfer-report.ts";

interface ExportOptions extends Target {
  readonly kind?: string;
}

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("export")
      .description(
        "Write all actors of a data directory or a cluster, their history, replies and messages, as one stream. It holds what they hold: keep it as secret.",
      )
      .argument("[file]", "compressed if it ends in .gz; - is standard output", "-"),
  )
    .option("--kind <kind>", "only actors of this kind, and messages to them")
    .action(exportAll);
};

const STANDARD = "-";
/** Characters per write: one write per line would take most of the time. */
const PIECE = 65_536;

const exportAll = async (file: string, options: ExportOptions): Promise<void> => {
  const { kind, json = false } = options;
  const open = await exporterOf(options);
  const progress = new ProgressLine("exporting", json);
  let counts: DumpCounts | undefined;
  try {
    await using exporter = open();
    const pieces = piecesOf(exporter, kind, progress, (all) => (counts = all));
    if (file === STANDARD) await toStandardOutput(pieces);
    else await toFile(file, pieces, (target) => options.engine === undefined && new DataDirectory(options.data).isStoreFile(target));
  } finally {
    progress.end();
  }
  if (counts === undefined) throw new StoreError("STORE_IO", "The export did not come to its end: try again.");
  const exported = counts;
  const copies = options.engine === undefined ? await copiesNeeded(new DataDirectory(options.data), kind) : [];
  const value = { exported, file, ...(copies.length === 0 ? {} : { beside: copies }) };
  showResult(value, `Exported ${countsText(exported)}.${copiesText(copies)}`, json, file === STANDARD);
};

const exporterOf = async (options: ExportOptions): Promise<() => Exporter> => {
  const engine = clusterTarget(options);
  if (engine !== undefined) {
    const { restateExporter } = await import("../../hosts/restate/index.ts");
    return () => restateExporter(engine);
  }
  const directory = new DataDirectory(options.data);
  directory.requireActors();
  const { sqliteExporter } = await import("../../core/store/index.ts");
  return () =>
    sqliteExporter({
      directory: directory.path,
      ...reportsLostLog,
    });
};

async function* piecesOf(
  exporter: Exporter,
  kind: string | undefined,
  progress: ProgressLine,
  onEnd: (counts: DumpCounts) => void,
): AsyncGenerator<Buffer> {
  const { writeDump } = await import("../../core/chain/index.ts");
  const lines = writeDump(exporter, { ...omitUndefined({ kind }), onProgress: (counts) => progress.update(counts) });
  let piece: string[] = [];
  let length = 0;
  for (;;) {
    const next = await lines.next();
    if (next.done === true) {
      yield Buffer.from(piece.join(""));
      onEnd(next.value);
      return;
    }
    piece.push(next.value, "\n");
    length += next.value.length;
    if (length < PIECE) continue;
    yield Buffer.from(piece.join(""));
    piece = [];
    length = 0;
  }
}

const toStandardOutput = async (pieces: AsyncIterable<Buffer>): Promise<void> => {
  try {
    await pipeline(Readable.from(pieces, { objectMode: false }), process.stdout, { end: false });
  } catch (error) {
    if (systemCode(error) !== "EPIPE") throw unwritable(error, "standard output");
    throw new CommandError(EXIT.failed, "FAILED", "Whoever read the export stopped before its end: what they have is no whole export.");
  }
};

/** Replaces the file atomically: there is never a part of an export under its name. */
const toFile = async (file: string, pieces: AsyncIterable<Buffer>, isOwn: (target: string) => boolean): Promise<void> => {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    // A pipe or a device is written to, not replaced.
    if (found !== undefined && !found.isFile()) return await writeTo(openSync(file, "w"), file, pieces, false);
    const target = found === undefined ? file : realpathSync(file);
    if (isOwn(target)) throw usage(`${file} is a file of the data directory itself: name another one.`);
    // Named by process, since two exports may write to one file.
    const part = `${target}.${process.pid}.part`;
    rmSync(part, { force: true });
    try {
      await writeTo(openSync(part, "wx", 0o600), file, pieces, true);
      renameSync(part, target);
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    }
    syncFolder(dirname(target));
  } catch (error) {
    throw unwritable(error, file);
  }
};

const unwritable = (error: unknown, file: string): unknown => {
  const code = systemCode(error);
  if (error instanceof StoreError || error instanceof CommandError || code === undefined) return error;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new StoreError("STORE_FULL", `There is no space left for ${file}. Free some, or name a file ending in .gz.`, { cause: error });
  return usage(`${file} cannot be written: ${whyUnwritable(error)}.`);
};

const writeTo = async (descriptor: number, file: string, pieces: AsyncIterable<Buffer>, sync: boolean): Promise<void> => {
  const packed: Transform[] = file.endsWith(".gz") ? [(await import("node:zlib")).createGzip()] : [];
  // Flushed before the rename, so that the name never stands for an incomplete file.
  const sink = createWriteStream("", { fd: descriptor, autoClose: true, flush: sync });
  await pipeline([Readable.from(pieces, { objectMode: false }), ...packed, sink]);
};
