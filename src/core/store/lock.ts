// Owns: the lock of a store. Does not own: the record next to it (checkpointer.ts), what a lost log means (log-loss.ts).

import { existsSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { StoreError } from "../contract/index.ts";
import { SyncRecord } from "./checkpointer.ts";
import { closedOnThrow, connect, makeFile } from "./database.ts";
import { sqliteCode } from "./store-errors.ts";
import { identityOf } from "./wal-sync.ts";

/** A lock this process holds. */
export interface Lock {
  /** The previous holder was killed, or its machine lost power. */
  readonly wasLeft: boolean;
  /** How much of the log is synced, for the next process that opens the store. */
  readonly record: SyncRecord;
  /** The holder is about to close in good order: removes the record. */
  leave(): void;
  /** Once the store is closed. */
  release(): void;
}

/**
 * Takes the lock: one server per store. It is SQLite's own lock on an empty file next to the store. The system releases it however its
 * holder dies, so no lock is ever stale, and a process id that is used again misleads no one. The record next to it names the holder.
 */
export function lockStore(path: string): Lock {
  const lock = `${path}.lock`;
  const recordPath = recordOf(path);
  // Only the owner may read the file, since reading it is enough to lock it.
  makeFile(lock);
  const database = connect(lock, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    // The lock file is damaged. Nothing is known about the store itself, so it must not be reported as one to restore.
    if (code === 11 || code === 26)
      throw new StoreError(
        "STORE_IO",
        `The lock file ${lock} was written to by something else. It holds nothing: while no server runs, delete it and start again.`,
        { cause: error },
      );
    if (code !== 5) throw error;
    throw new StoreError(
      "STORE_LOCKED",
      `The store ${path} is held by ${holderOf(recordPath)}. Stop that server first, or name another directory; commands that only read work next to it.`,
      { cause: error },
    );
  }
  const wasLeft = existsSync(recordPath);
  const record = closedOnThrow(database, () => SyncRecord.take(recordPath));
  // Where the folder is moved away, the file at this path may be another process's one day.
  const isOwnRecord = identityOf(recordPath);
  return {
    wasLeft,
    record,
    leave() {
      if (isOwnRecord()) rmSync(recordPath, { force: true });
    },
    release: () => {
      record.close();
      database.close();
    },
  };
}

/** The file as SQLite finds it, through links: two names of one file must not have two locks. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // The file does not exist yet. Its folder may be named through a link, which may lead to another folder before the store is closed.
    try {
      return join(realpathSync(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}

/** Where the record of the store at `path` is. */
export const recordOf = (path: string): string => `${path}.pid`;

/** Whether a process holds the store at `path` now, and so writes to its files. */
export function isLocked(path: string): boolean {
  const lock = `${path}.lock`;
  if (!existsSync(lock)) return false;
  const database = connect(lock, { readOnly: true, timeout: 0 });
  try {
    database.prepare("SELECT 1 FROM sqlite_master").get();
    return false;
  } catch (error) {
    return sqliteCode(error) === 5;
  } finally {
    database.close();
  }
}

function holderOf(recordPath: string): string {
  try {
    const pid = Number.parseInt(readFileSync(recordPath, "utf8"), 10);
    if (Number.isInteger(pid) && pid > 0) return `process ${pid}`;
  } catch {
    // The holder has taken the lock and not written its id yet.
  }
  return "another process";
}
