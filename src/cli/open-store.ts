// Owns: opening what commands read: a data directory, an unpacked export or a cluster; retries while a store is locked. Does not own:
// changes (run-operation.ts), lost logs (lost-log.ts).
import { createReadStream, type ReadStream, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ActorReader } from "../bridges/operate/index.ts";
import { type ActorId, StoreError } from "../core/contract/index.ts";
import { type Target, clusterTarget } from "./actor-options.ts";
import { CommandError, usage } from "./command-error.ts";
import { DataDirectory } from "./data-directory.ts";
import { systemCode, whyUnreadable } from "./files.ts";
import { reportsLostLog } from "./lost-log.ts";

const TRIES = 30;
const PAUSE_MS = 100;

/** Whether `error` says that another process holds the store. */
export const isLocked = (error: unknown): boolean => error instanceof StoreError && error.code === "STORE_LOCKED";

/**
 * The result of `open`. Retries for three seconds while another process holds the store: a command holds it only briefly, and a server that
 * starts holds it before it accepts commands. Fails at once if a server listens at `control`. Throws the last error of `open`.
 */
export const openWhenUnlocked = async <T>(open: () => T, control: string): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return open();
    } catch (error) {
      if (!isLocked(error) || tries === TRIES) throw error;
      // Imported here, since a server rarely needs it to start.
      const { isListening } = await import("./control-socket.ts");
      if (await isListening(control)) throw error;
      await sleep(PAUSE_MS);
    }
  }
};

/** Reads actors of a data directory or a cluster. */
export interface Reader extends Pick<ActorReader, "list" | "events" | "event" | "caused" | "state">, AsyncDisposable {
  readonly letters: NonNullable<ActorReader["letters"]>;
  /** The directory, or the address of the cluster. */
  readonly place?: string;
  /** Undefined if there is no such actor. */
  load(id: ActorId): Promise<object | undefined>;
}

/** Opens a reader, also while a server runs. `directory`: the data directory; absent on a cluster. */
export const openReader = async (place: Target): Promise<{ readonly store: Reader; readonly directory?: DataDirectory }> => {
  const engine = clusterTarget(place);
  if (engine !== undefined) return { store: await (await import("./cluster-operator.ts")).openClusterReader(engine) };
  const directory = new DataDirectory(place.data);
  directory.requireActors();
  const { sqliteStore } = await import("../core/store/index.ts");
  const store = sqliteStore({
    directory: directory.path,
    readOnly: true,
    ...reportsLostLog,
  });
  // The code that reads chains is loaded only when a state is read; a list does not need it.
  const state: Reader["state"] = async (id) => (await import("../bridges/operate/index.ts")).storeReader(store).state(id);
  return { store: Object.assign(store, { state, place: directory.path }), directory };
};

/** The data directory that `--data` names, or one into which the export that it names is unpacked. Throws unless there are actors. */
export const openExportOrDirectory = async (data: string, open: AsyncDisposableStack): Promise<DataDirectory> => {
  const path = resolve(data);
  // Imported only here, since every command loads this file.
  const { stat } = await import("node:fs/promises");
  const isFile = (await stat(path).catch(() => undefined))?.isFile() === true;
  const directory = new DataDirectory(isFile ? await unpacked(path, open) : path);
  directory.requireActors();
  return directory;
};

/** Unpacks into a folder that is deleted when `open` is disposed of. */
const unpacked = async (file: string, open: AsyncDisposableStack): Promise<string> => {
  const { mkdtemp, rm } = await import("node:fs/promises");
  const folder = await mkdtemp(join(tmpdir(), "troupe-export-"));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  await importFile(file, folder);
  return folder;
};

const STANDARD = "-";

/** Imports all of an export into an empty folder. */
const importFile = async (file: string, directory: string): Promise<void> => {
  const [{ readDump }, { sqliteImporter }] = await Promise.all([import("../core/chain/index.ts"), import("../core/store/index.ts")]);
  await readDump(readChunks(file), async () => sqliteImporter({ directory, ...reportsLostLog }));
};

const BOM = [0xef, 0xbb, 0xbf];

export async function* readChunks(file: string): AsyncGenerator<Uint8Array> {
  try {
    const input = file === STANDARD ? process.stdin : openFile(file);
    const chunks = file.endsWith(".gz") ? pipeline(input, (await import("node:zlib")).createGunzip(), () => undefined) : input;
    let first = true;
    for await (const chunk of chunks) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError("A stream of bytes gave something else.");
      yield first && BOM.every((byte, at) => chunk[at] === byte) ? chunk.subarray(BOM.length) : chunk;
      first = false;
    }
  } catch (error) {
    throw explainReadError(file, error);
  }
}

const openFile = (file: string): ReadStream => {
  if (statSync(file).isDirectory()) throw usage(`${file} is a folder: name the file that "troupe export" wrote.`);
  return createReadStream(file);
};

const explainReadError = (file: string, error: unknown): unknown => {
  const code = systemCode(error);
  if (code === undefined || error instanceof CommandError) return error;
  if (code.startsWith("Z_"))
    return new StoreError(
      "STORE_CORRUPT",
      `${file} cannot be unpacked (${code}): it is cut off, was changed, or is no gzip file. Take another copy.`,
      {
        cause: error,
      },
    );
  return usage(`${file} cannot be read: ${whyUnreadable(error)}.`);
};
