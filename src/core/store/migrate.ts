import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/index.ts";
import { damaged, int } from "./column.ts";
import { sqliteCode } from "./sqlite-error.ts";

const pragma = (database: DatabaseSync, name: string): number => int(database.prepare(`PRAGMA ${name}`).get()?.[name]);

/**
 * Brings a file to the newest of `scripts` in one transaction. Throws `STORE_NEWER` for a
 * file written by a later Troupe, `STORE_CORRUPT` for a database of something else.
 */
export function migrate(database: DatabaseSync, application: number, scripts: readonly string[], readOnly = false): void {
  const version = pragma(database, "user_version");
  const owner = pragma(database, "application_id");
  const empty = version === 0 && database.prepare("SELECT 1 FROM sqlite_master LIMIT 1").get() === undefined;
  if (!empty && owner !== application)
    throw new StoreError("STORE_CORRUPT", "This database was not written by Troupe. Name another directory.");
  if (version > scripts.length)
    throw new StoreError(
      "STORE_NEWER",
      `This store has schema version ${version}, this Troupe knows ${scripts.length}. Use the newer Troupe that wrote it, or a copy made before.`,
    );
  if (version === scripts.length) return;
  if (readOnly)
    throw new StoreError(
      "STORE_READ_ONLY",
      `This store has schema version ${version}. Serve it once with this Troupe: that brings it to version ${scripts.length}.`,
    );
  database.exec("BEGIN IMMEDIATE");
  try {
    // Read again: of several processes that share a file and start at once, one migrates.
    for (const script of scripts.slice(pragma(database, "user_version"))) database.exec(script);
    database.exec(`PRAGMA application_id = ${application}; PRAGMA user_version = ${scripts.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    // Nobody else writes: it is what the rows hold that the new tables cannot.
    throw sqliteCode(error) === 19 ? damaged("its rows are not what was written", error) : error;
  }
}
