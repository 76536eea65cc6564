import { mkdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { guarded } from "./guarded.ts";
import { lockStore } from "./lock.ts";
import { migrate } from "./migrate.ts";
import { openDatabase, orClosed, pathOf, type StorePlace } from "./open-database.ts";
import { APPLICATION, SCHEMA } from "./schema.ts";

/**
 * What `make` makes of the store's database, which is made where absent, with its directory, and is as new as this version.
 * `unlock` gives the lock away, once the database is closed. Throws `StoreError`, with nothing left open.
 */
export const lockedStore = <T>(place: StorePlace, make: (database: DatabaseSync, unlock: () => void) => T): T =>
  lockedFile(pathOf(place), place.directory, (database, unlock) => {
    migrate(database, APPLICATION, SCHEMA);
    return make(database, unlock);
  });

/** Likewise, of any file with a lock beside it. `make` migrates it; `directory` is made where absent. */
export function lockedFile<T>(path: string, directory: string | undefined, make: (database: DatabaseSync, unlock: () => void) => T): T {
  return guarded(path, () => {
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 });
    const unlock = lockStore(path);
    try {
      return orClosed(openDatabase(path), (database) => make(database, unlock));
    } catch (error) {
      unlock();
      throw error;
    }
  });
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
