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
