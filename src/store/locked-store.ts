import { mkdirSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { guarded } from "./guarded.ts";
import { lockStore } from "./lock.ts";
import { migrate } from "./migrate.ts";
import { openDatabase, pathOf } from "./open-database.ts";
import { APPLICATION, SCHEMA } from "./schema.ts";

/**
 * What `make` makes of the store's database, which is made where absent, with its directory, and is as new as this version.
 * `unlock` gives the lock away, once the database is closed. Throws `StoreError`, with nothing left open.
 */
export function lockedStore<T>(
  place: { readonly directory?: string; readonly path?: string },
  make: (database: DatabaseSync, unlock: () => void) => T,
): T {
  const path = pathOf(place);
  return guarded(path, () => {
    if (place.directory !== undefined) mkdirSync(place.directory, { recursive: true, mode: 0o700 });
    const unlock = lockStore(path);
    let database: DatabaseSync | undefined;
    try {
      database = openDatabase(path);
      migrate(database, APPLICATION, SCHEMA);
      return make(database, unlock);
    } catch (error) {
      database?.close();
      unlock();
      throw error;
    }
  });
}
