import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { guarded } from "./guarded.ts";
import { isHeld, lockStore, recordOf } from "./lock.ts";
import { hasHeader, inspectLog, keepAlarm, known, type LogLoss, refuseShort } from "./log-loss.ts";
import { migrate } from "./migrate.ts";
import { openDatabase, orClosed, pathOf, type StorePlace } from "./open-database.ts";
import { APPLICATION, SCHEMA } from "./schema.ts";
import { WalLog } from "./wal-log.ts";
import { type Disk, walFile, WalSync } from "./wal-sync.ts";

/** Whoever only reads holds the file for a moment where it was left by a killed server: it puts the log's index right first. */
const OPENING_MS = 5_000;

/** A file whose lock is held. */
export interface Locked {
  readonly database: DatabaseSync;
  /** Its file, which the one that was named may lead to: its log and its lock lie beside this one. */
  readonly path: string;
  /** Syncs its log, and copies it. */
  readonly wal: WalSync;
  /** Closes `wal` and the database, then gives the lock away. */
  readonly close: () => Promise<void>;
}

/** What the opening of a store tells, and takes for tests. */
export interface OpenHooks {
  /** What a killed process had put on the disk, and its log has no more; each time, until an operator has acknowledged it. */
  readonly onLostLog?: (loss: LogLoss) => void;
  /** Why the log cannot be copied into the database, once; without, once it can again. */
  readonly onCheckpoint?: (fault: StoreError | undefined) => void;
  readonly disk?: Disk;
}

/**
 * What `make` makes of the store's database, which is made where absent, with its directory, and is as new as this version.
 * Throws `StoreError`, with nothing left open.
 */
export const lockedStore = <T>(options: StorePlace & OpenHooks, make: (locked: Locked) => T): T =>
  lockedFile(
    pathOf(options),
    options.directory,
    (locked) => {
      migrate(locked.database, APPLICATION, SCHEMA);
      return make(locked);
    },
    options,
  );

/** Likewise, of any file with a lock beside it. `make` migrates it; `directory` is made where absent. */
export function lockedFile<T>(named: string, directory: string | undefined, make: (locked: Locked) => T, hooks: OpenHooks = {}): T {
  return guarded(named, () => {
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = followed(named);
    refusePipes(path);
    const lock = lockStore(path);
    try {
      const { loss, isNew, extent } = inspectLog(path, lock.wasLeft, true);
      if (loss !== undefined && isNew) keepAlarm(loss);
      // That is told; what the log has from here on is counted anew. So it is where there is no log: the next has other salts.
      if (isNew || (lock.wasLeft && !hasHeader(extent.salts))) {
        lock.record.write({ salts: [0, 0], frames: 0, copied: 0 });
        lock.record.sync();
      }
      return orClosed(openDatabase(path, { busyMs: OPENING_MS }), (database) => {
        refuseShort(path, database, extent);
        const log = new WalLog(path, database, lock.record, hooks.onCheckpoint);
        const wal = new WalSync(hooks.disk ?? walFile(path), undefined, log);
        const close = async (): Promise<void> => {
          try {
            if (await wal.close()) lock.leave();
            closeDatabase(path, database, wal.hasFailed);
          } finally {
            lock.release();
          }
        };
        const made = make({ database, path, wal, close });
        // `wal` makes commits durable.
        database.exec("PRAGMA synchronous = NORMAL");
        // From here on nobody else writes, and who serves must not stand still.
        database.exec("PRAGMA busy_timeout = 0");
        if (loss !== undefined) hooks.onLostLog?.(loss);
        return made;
      });
    } catch (error) {
      if (!lock.wasLeft) lock.leave();
      lock.release();
      throw error;
    }
  });
}

/** After a failed sync the log may have gaps, which the database must not be given: whoever closes it last copies it. */
function closeDatabase(path: string, database: DatabaseSync, syncFailed: boolean): void {
  if (!syncFailed) return database.close();
  let reader: DatabaseSync;
  try {
    // One that only reads does not copy.
    reader = openDatabase(path, { readOnly: true });
  } catch {
    // It stays open until the process ends, which copies nothing either.
    return;
  }
  database.close();
  reader.close();
}

/** Whoever opens a pipe waits for somebody at its other end. A server writes none; an archive may bring one. */
function refusePipes(path: string): void {
  for (const end of ["", "-wal", "-shm", ".lock", ".pid", ".log-lost"])
    if (statSync(path + end, { throwIfNoEntry: false })?.isFIFO() === true)
      throw new StoreError("STORE_IO", `${path + end} is a pipe, which no server of Troupe wrote: remove it, or name another directory.`);
}

/** As SQLite does: who holds one file by two names must not hold two locks. */
function followed(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It is still to be made.
    return path;
  }
}

/** What `make` makes of the store's database beside a running server. Throws `StoreError`, also for one that is of an older version. */
export function readableStore<T>(options: StorePlace & OpenHooks, make: (database: DatabaseSync) => T): T {
  const path = pathOf(options);
  return guarded(path, () =>
    orClosed(openToRead(path, options.onLostLog), (database) => {
      migrate(database, APPLICATION, SCHEMA, true);
      return make(database);
    }),
  );
}

/**
 * A database to read, beside a server or where none runs. There the log is looked at before SQLite is, which would make a new one: what a killed
 * server left behind stays as it is.
 */
export function openToRead(named: string, onLostLog?: (loss: LogLoss) => void): DatabaseSync {
  const path = followed(named);
  refusePipes(path);
  if (isHeld(path)) {
    const loss = known(path);
    if (loss !== undefined) onLostLog?.(loss);
    return openDatabase(path, { readOnly: true });
  }
  const wasLeft = existsSync(recordOf(path));
  const { loss, extent } = inspectLog(path, wasLeft, false);
  if (loss !== undefined) onLostLog?.(loss);
  const database = openDatabase(path, { readOnly: true, isConstant: wasLeft && !existsSync(`${path}-wal`) });
  return orClosed(database, () => {
    // A server may have begun meanwhile.
    if (!isHeld(path)) refuseShort(path, database, extent);
    return database;
  });
}
