// Owns: opening a store's file: its lock, its log, its schema, in that order; and closing it. Does not own: what is stored in it.

import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { Checkpointer } from "./checkpointer.ts";
import { closedOnThrow, migrate, openDatabase, pathOf, type StorePlace } from "./database.ts";
import { sqliteCode, storeFault } from "./store-errors.ts";
import { isLocked, lockStore, realPath, recordOf } from "./lock.ts";
import { hasHeader, inspectLog, knownLoss, type LogLoss, refuseShort, writeAlarm } from "./log-loss.ts";
import { APPLICATION, SCHEMA } from "./schema.ts";
import { type Disk, walFile, WalSync } from "./wal-sync.ts";

/** A process that only reads locks the file for a moment after a server was killed, because it rebuilds the log's index first. */
const OPENING_MS = 5_000;

/**
 * The stores that a process which ends now has not closed. Node closes their databases then, and SQLite deletes a log that it has copied:
 * with the record still there, the next opening would report that log as taken away.
 */
const leavingAtExit = new Set<() => void>();

function leaveAll(): void {
  for (const leave of leavingAtExit) {
    try {
      leave();
    } catch {
      // The record stays, and the next opening inspects the log.
    }
  }
}

/** An open file whose lock this process holds. */
export interface LockedFile {
  readonly database: DatabaseSync;
  /** Syncs and checkpoints the log. */
  readonly wal: WalSync;
  /** Closes `wal` and the database, then releases the lock. */
  readonly close: () => Promise<void>;
}

/** Callbacks about the log, and the disk of a test. */
export interface OpenHooks {
  /** Called at each opening with the loss of a log, until an operator has acknowledged it. */
  readonly onLostLog?: (loss: LogLoss) => void;
  /** Called once with the reason when the log cannot be copied into the database, and without one when it can again. */
  readonly onCheckpoint?: (fault: StoreError | undefined) => void;
  readonly disk?: Disk;
}

/**
 * The result of `make` on the store's database, created with its directory where absent and migrated to this version. Throws `StoreError`,
 * with nothing left open.
 */
export const openLockedStore = <T>(options: StorePlace & OpenHooks, make: (file: LockedFile) => T): T =>
  openLockedFile(
    pathOf(options),
    options.directory,
    (file) => {
      migrate(file.database, APPLICATION, SCHEMA);
      return make(file);
    },
    options,
  );

/** The same for any file with a lock next to it. `make` migrates it; `directory` is created where absent. */
export function openLockedFile<T>(name: string, directory: string | undefined, make: (file: LockedFile) => T, hooks: OpenHooks = {}): T {
  return checkedOpen(name, () => {
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = realPath(name);
    refuseForeignFiles(path);
    const lock = lockStore(path);
    try {
      const { loss, isNew, extent } = inspectLog(path, lock.wasLeft, true);
      if (loss !== undefined && isNew) writeAlarm(loss);
      // The loss is reported, so the record starts anew; likewise where there is no log: the next one has other salts.
      if (isNew || (lock.wasLeft && !hasHeader(extent.salts))) {
        lock.record.write({ salts: [0, 0], frames: 0, copied: 0 });
        lock.record.sync();
      }
      return closedOnThrow(openDatabase(path, { busyMs: OPENING_MS }), (database) => {
        refuseShort(path, database, extent);
        const wal = new WalSync(hooks.disk ?? walFile(path), undefined, new Checkpointer(path, database, lock.record, hooks.onCheckpoint));
        const leaveAtExit = (): void => {
          if (wal.copyAll()) lock.leave();
        };
        const close = async (): Promise<void> => {
          try {
            if (await wal.close()) lock.leave();
            closeDatabase(path, database, wal.hasFailed);
          } finally {
            leavingAtExit.delete(leaveAtExit);
            if (leavingAtExit.size === 0) process.off("exit", leaveAll);
            lock.release();
          }
        };
        const made = make({ database, wal, close });
        // From here on `wal` makes commits durable, no other process writes, and a server must not block.
        database.exec("PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 0");
        if (loss !== undefined) hooks.onLostLog?.(loss);
        if (leavingAtExit.size === 0) process.once("exit", leaveAll);
        leavingAtExit.add(leaveAtExit);
        return made;
      });
    } catch (error) {
      if (!lock.wasLeft) lock.leave();
      lock.release();
      throw error;
    }
  });
}

/** After a failed sync the log may have gaps and must not be copied into the database, which the last connection to close does. */
function closeDatabase(path: string, database: DatabaseSync, syncFailed: boolean): void {
  if (!syncFailed) return database.close();
  let reader: DatabaseSync;
  try {
    // A read-only connection that is closed last does not copy.
    reader = openDatabase(path, { readOnly: true });
  } catch {
    // The database stays open until the process ends, which does not copy either.
    return;
  }
  database.close();
  reader.close();
}

/** Of the files that are read whole. */
const MOST_NOTE_BYTES = 65_536;

/**
 * What a server does not create, and an archive may contain: a named pipe, which blocks until another process opens its other end, and notes
 * of gigabytes, which take no room on the disk if they have holes.
 */
function refuseForeignFiles(path: string): void {
  for (const end of ["", "-wal", "-shm", ".lock", ".pid", ".log-lost"]) {
    const found = statSync(path + end, { throwIfNoEntry: false });
    const isTooLarge = (end === ".pid" || end === ".log-lost") && found !== undefined && found.size > MOST_NOTE_BYTES;
    if (found?.isFIFO() !== true && !isTooLarge) continue;
    const what = isTooLarge ? `has ${found.size} bytes` : "is a pipe";
    throw new StoreError("STORE_IO", `${path + end} ${what}, which no server of Troupe wrote: remove it, or name another directory.`);
  }
}

/** The result of `make` on the store's database, next to a running server. Throws `StoreError`, also where the schema is older. */
export function openReadableStore<T>(options: StorePlace & OpenHooks, make: (database: DatabaseSync) => T): T {
  const path = pathOf(options);
  return checkedOpen(path, () =>
    closedOnThrow(openToRead(path, options.onLostLog), (database) => {
      migrate(database, APPLICATION, SCHEMA, true);
      return make(database);
    }),
  );
}

/**
 * A database to read, with or without a running server. Without one, the log is inspected before SQLite opens the file and creates a new
 * log: what a killed server left stays unchanged.
 */
export function openToRead(name: string, onLostLog?: (loss: LogLoss) => void): DatabaseSync {
  const path = realPath(name);
  refuseForeignFiles(path);
  if (isLocked(path)) {
    const loss = knownLoss(path);
    if (loss !== undefined) onLostLog?.(loss);
    return openDatabase(path, { readOnly: true });
  }
  const wasLeft = existsSync(recordOf(path));
  const { loss, extent } = inspectLog(path, wasLeft, false);
  if (loss !== undefined) onLostLog?.(loss);
  const database = openDatabase(path, { readOnly: true, isConstant: wasLeft && !existsSync(`${path}-wal`) });
  return closedOnThrow(database, () => {
    // A server may have started meanwhile.
    if (!isLocked(path)) refuseShort(path, database, extent);
    return database;
  });
}

/** The result of `open`; every fault becomes a `StoreError` that names `path` and the system's reason. */
function checkedOpen<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const cause = sqliteCode(error) === 14 ? (accessError(path) ?? error) : error;
    const system = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (system === "EACCES" || system === "EROFS" || system === "EPERM")
      throw new StoreError(
        "STORE_READ_ONLY",
        `The store ${path} cannot be written. Check who owns its directory and how the disk is mounted.`,
        { cause },
      );
    if (system === "ENOSPC" || system === "EDQUOT")
      throw new StoreError("STORE_FULL", `There is no space left for the store ${path}. Free some, then try again.`, { cause });
    if (system === "EMFILE" || system === "ENFILE")
      throw new StoreError("STORE_IO", `There is no file handle left to open ${path}. Raise the limit (ulimit -n), then start again.`, {
        cause,
      });
    const fault = storeFault(error);
    throw new StoreError(fault.code, `${path}: ${fault.message}`, { cause });
  }
}

/** SQLite reports only that it could not open a file; the system says why. */
function accessError(path: string): unknown {
  try {
    // Closing a folder releases no lock, as closing a database file would.
    closeSync(openSync(dirname(path), "r"));
    for (const file of [dirname(path), path, `${path}.lock`]) if (existsSync(file)) accessSync(file, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}
