import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { makeFile, orClosed } from "./open-database.ts";
import { sqliteCode } from "./sqlite-error.ts";

/** One that is held. */
export interface Lock {
  /** Who held it before was killed, or its machine lost power. */
  readonly wasLeft: boolean;
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
  const holder = `${path}.pid`;
  // Whoever may read a file may lock it.
  makeFile(lock);
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(lock, { timeout: 0 });
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
  orClosed(database, () => {
    // Made anew, not written to: what has that name may be a link to something else.
    rmSync(holder, { force: true });
    writeFileSync(holder, `${process.pid}\n`, { mode: 0o600, flag: "wx" });
  });
  return {
    wasLeft,
    leave: () => rmSync(holder, { force: true }),
    release: () => database.close(),
  };
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
