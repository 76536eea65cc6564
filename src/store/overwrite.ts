import type { DatabaseSync } from "node:sqlite";

/** What `write` takes away is overwritten in its page. */
export function overwriting<T>(database: DatabaseSync, write: () => T): T {
  database.exec("PRAGMA secure_delete = ON");
  try {
    return write();
  } finally {
    database.exec("PRAGMA secure_delete = FAST");
  }
}

/** The old pages are still in the WAL. With a reader beside it this copies what it can; the next one does the rest. */
export function emptyLog(database: DatabaseSync): void {
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}
