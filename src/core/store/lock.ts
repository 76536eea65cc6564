import { existsSync, readFileSync, rmSync } from "node:fs";
import { StoreError } from "../contract/index.ts";
import { connect, makeFile, orClosed } from "./open-database.ts";
import { sqliteCode } from "./sqlite-error.ts";
import { SyncRecord } from "./sync-record.ts";

/** One that is held. */
export interface Lock {
  /** Who held it before was killed, or its machine lost power. */
  readonly wasLeft: boolean;
  /** What of the log is synced, for who comes next. */
  readonly record: SyncRecord;
  /** Its holder is about to end in good order. */
  leave(): void;
  /** Once the store is closed. */
  release(): void;
}

/**
 * One server per store. The lock is SQLite's own on an empty file beside it: the system
 * lets go of it when its holder dies, however it dies, so none is ever stale, and a pid
 * used again by another program deceives nobody. Who holds it is written beside it, for people.
 */
export function lockStore(path: string): Lock {
  const lock = `${path}.lock`;
  const holder = recordOf(path);
  // Whoever may read a file may lock it.
  makeFile(lock);
  const database = connect(lock, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    const code = sqliteCode(error);
    // Of the store itself nothing is known yet, least of all that it needs to be restored.
    if (code === 11 || code === 26)
      throw new StoreError(
        "STORE_IO",
        `The lock file ${lock} was written to by something else. It holds nothing: while no server runs, delete it and start again.`,
        { cause: error },
      );
    if (code !== 5) throw error;
    throw new StoreError(
      "STORE_LOCKED",
      `The store ${path} is held by ${holderOf(holder)}. Stop that server first, or name another directory; commands that only read work beside it.`,
      { cause: error },
    );
  }
  const wasLeft = existsSync(holder);
  const record = orClosed(database, () => SyncRecord.take(holder));
  return {
    wasLeft,
    record,
    leave: () => rmSync(holder, { force: true }),
    release: () => {
      record.close();
      database.close();
    },
  };
}

/** Beside the lock. */
export const recordOf = (path: string): string => `${path}.pid`;

/** Whether a process holds the store at `path` now, and so writes to its files. */
export function isHeld(path: string): boolean {
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

function holderOf(path: string): string {
  try {
    const pid = Number.parseInt(readFileSync(path, "utf8"), 10);
    if (Number.isInteger(pid) && pid > 0) return `process ${pid}`;
  } catch {
    // The holder is between taking the lock and writing its name.
  }
  return "another process";
}
