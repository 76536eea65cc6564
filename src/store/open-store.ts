import { existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { guarded } from "./guarded.ts";
import { lockStore } from "./lock.ts";
import { migrate } from "./migrate.ts";
import { openDatabase, orClosed, pathOf, type StorePlace } from "./open-database.ts";
import { APPLICATION, SCHEMA } from "./schema.ts";

/** Whoever only reads holds the file for a moment where it was left by a killed server: it puts the log's index right first. */
const OPENING_MS = 5_000;

/** A file whose lock is held. */
export interface Locked {
  readonly database: DatabaseSync;
  /** Its file, which the one that was named may lead to: its log and its lock lie beside this one. */
  readonly path: string;
  /** A server was killed here, and the log it left has been taken away: what it acknowledged last may be gone with it. */
  readonly lostLog: boolean;
  /** Closes the database, then gives the lock away. */
  readonly close: () => void;
}

/**
 * What `make` makes of the store's database, which is made where absent, with its directory, and is as new as this version.
 * Throws `StoreError`, with nothing left open.
 */
export const lockedStore = <T>(place: StorePlace, make: (locked: Locked) => T): T =>
  lockedFile(pathOf(place), place.directory, (locked) => {
    migrate(locked.database, APPLICATION, SCHEMA);
    return make(locked);
  });

/** Likewise, of any file with a lock beside it. `make` migrates it; `directory` is made where absent. */
export function lockedFile<T>(named: string, directory: string | undefined, make: (locked: Locked) => T): T {
  return guarded(named, () => {
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 });
    const path = followed(named);
    const lock = lockStore(path);
    // As long as a store is open its log is there, and who closes it in good order says so before the log goes.
    const lostLog = lock.wasLeft && (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0 && !existsSync(`${path}-wal`);
    try {
      return orClosed(openDatabase(path, { busyMs: OPENING_MS }), (database) => {
        const close = (): void => {
          lock.leave();
          try {
            database.close();
          } finally {
            lock.release();
          }
        };
        const made = make({ database, path, lostLog, close });
        // From here on nobody else writes, and who serves must not stand still.
        database.exec("PRAGMA busy_timeout = 0");
        return made;
      });
    } catch (error) {
      if (!lock.wasLeft) lock.leave();
      lock.release();
      throw error;
    }
  });
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
export function readableStore<T>(place: StorePlace, make: (database: DatabaseSync) => T): T {
  const path = pathOf(place);
  return guarded(path, () =>
    orClosed(openDatabase(path, { readOnly: true }), (database) => {
      migrate(database, APPLICATION, SCHEMA, true);
      return make(database);
    }),
  );
}
