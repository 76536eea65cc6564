import { createReadStream, type ReadStream, statSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ActorReader } from "../bridges/operate/index.ts";
import { type ActorId, StoreError } from "../core/contract/index.ts";
import type { LogLoss } from "../core/store/index.ts";
import { type Place, transferOf } from "./actor-options.ts";
import { CommandError, usage } from "./command-error.ts";
import { DataDirectory } from "./data-directory.ts";
import { systemCode, whyUnreadable } from "./files.ts";

/** What a command found missing: it does its work all the same, and then says so and ends with exit code 5. */
interface NotedLoss {
  readonly code: string;
  readonly message: string;
}

let noted: NotedLoss | undefined;

const noteLoss = (loss: NotedLoss): void => {
  noted = loss;
};

const CODE = { "log-missing": "LOG_MISSING", "log-cut": "LOG_CUT" } as const;

/** For whatever a command opens. */
export const notesLoss = {
  onLostLog: ({ event, message }: LogLoss): void => noteLoss({ code: CODE[event], message }),
};

/** Once: a process may run another command. */
export const takeLoss = (): NotedLoss | undefined => {
  const loss = noted;
  noted = undefined;
  return loss;
};

const TRIES = 30;
const PAUSE_MS = 100;

/** Whether `error` says that another process holds the store. */
export const isHeld = (error: unknown): boolean => error instanceof StoreError && error.code === "STORE_LOCKED";

/**
 * The result of `open`. While another process holds the store, it is tried again for three seconds: a command holds it for a moment only,
 * and a server that starts holds it before it takes commands. Ends at once if a server listens at `control`. Throws what `open` threw last.
 */
export const openWhenFree = async <T>(open: () => T, control: string): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return open();
    } catch (error) {
      if (!isHeld(error) || tries === TRIES) throw error;
      // Not needed to start a server.
      const { isListening } = await import("./control-socket.ts");
      if (await isListening(control)) throw error;
      await sleep(PAUSE_MS);
    }
  }
};

/** What there is to read of actors, wherever they are. */
export interface Reader extends Pick<ActorReader, "list" | "events" | "event" | "caused" | "state">, AsyncDisposable {
  readonly letters: NonNullable<ActorReader["letters"]>;
  /** Where it reads: a directory, or a server's address. */
  readonly place?: string;
  /** Undefined: there is no such actor. */
  load(id: ActorId): Promise<object | undefined>;
}

/** To read only: works beside running servers. `directory`: there the actors are, if not on a Restate server. */
export const openToRead = async (place: Place): Promise<{ readonly store: Reader; readonly directory?: DataDirectory }> => {
  const engine = transferOf(place);
  if (engine !== undefined) return { store: await (await import("./cluster-operator.ts")).readCluster(engine) };
  const directory = new DataDirectory(place.data);
  directory.requireActors();
  const { sqliteStore } = await import("../core/store/index.ts");
  const store = sqliteStore({
    directory: directory.path,
    readOnly: true,
    ...notesLoss,
  });
  // What reads chains is loaded when a state is read: a list needs none of it.
  const state: Reader["state"] = async (id) => (await import("../bridges/operate/index.ts")).storeReader(store).state(id);
  return { store: Object.assign(store, { state, place: directory.path }), directory };
};

/** The data directory that `--data` names, or an exported history, unpacked into one. Throws unless there are actors. */
export const directoryToRead = async (data: string, open: AsyncDisposableStack): Promise<DataDirectory> => {
  const path = resolve(data);
  const isFile = (await stat(path).catch(() => undefined))?.isFile() === true;
  const directory = new DataDirectory(isFile ? await unpacked(path, open) : path);
  directory.requireActors();
  return directory;
};

/** In a folder that is deleted when `open` is disposed of. Nothing runs there. */
const unpacked = async (file: string, open: AsyncDisposableStack): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "troupe-export-"));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  await importFile(file, folder);
  return folder;
};

const STANDARD = "-";

/** All of an exported history into a folder that has no actors yet. */
const importFile = async (file: string, directory: string): Promise<void> => {
  const [{ readDump }, { sqliteImporter }] = await Promise.all([import("../core/chain/index.ts"), import("../core/store/index.ts")]);
  await readDump(chunksOf(file), async () => sqliteImporter({ directory, ...notesLoss }));
};

const BOM = [0xef, 0xbb, 0xbf];

export async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    const input = file === STANDARD ? process.stdin : opened(file);
    const chunks = file.endsWith(".gz") ? pipeline(input, (await import("node:zlib")).createGunzip(), () => undefined) : input;
    let first = true;
    for await (const chunk of chunks) {
      if (!(chunk instanceof Uint8Array)) throw new TypeError("A stream of bytes gave something else.");
      yield first && BOM.every((byte, at) => chunk[at] === byte) ? chunk.subarray(BOM.length) : chunk;
      first = false;
    }
  } catch (error) {
    throw readFault(file, error);
  }
}

const opened = (file: string): ReadStream => {
  if (statSync(file).isDirectory()) throw usage(`${file} is a folder: name the file that "troupe export" wrote.`);
  return createReadStream(file);
};

const readFault = (file: string, error: unknown): unknown => {
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
