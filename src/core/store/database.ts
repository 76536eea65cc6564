// Owns: opening an SQLite database safely, and bringing its schema up to date. Does not own: locks and logs (open-store.ts), the schemas.

import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";
import { fileURLToPath, pathToFileURL } from "node:url";
import { StoreError } from "../contract/index.ts";
import { damaged, sqliteCode } from "./store-errors.ts";
import { int } from "./columns.ts";

/**
 * Every database is opened here. A file may come from elsewhere, so its schema is not trusted: it may call no function that has effects,
 * and no statement may change the file's format or the internal tables.
 */
export function connect(path: string | URL, options: DatabaseSyncOptions): DatabaseSync {
  refusePipes(typeof path === "string" ? path : fileURLToPath(path));
  // Importing `node:sqlite` statically makes every start ten times as slow.
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path, { ...options, defensive: true });
  return closedOnThrow(database, () => {
    database.exec("PRAGMA trusted_schema = OFF");
    return database;
  });
}

/**
 * Opening a named pipe blocks until another process opens its other end. A server creates none; an archive may contain one. SQLite opens
 * also a database's log and journal by itself.
 */
export function refusePipes(path: string): void {
  for (const ending of ["", "-wal", "-shm", "-journal"])
    if (statSync(path + ending, { throwIfNoEntry: false })?.isFIFO() === true)
      throw new StoreError(
        "STORE_IO",
        `${path + ending} is a pipe, which no server of Troupe wrote: remove it, or name another directory.`,
      );
}

/** `troupe.db` in a directory, or the file itself. */
export interface StorePlace {
  readonly directory?: string;
  readonly path?: string;
}

/** Where a store's file is. Throws `STORE_IO` where no place was named. */
export function pathOf({ directory, path }: StorePlace): string {
  if (path !== undefined) return path;
  if (directory !== undefined) return join(directory, "troupe.db");
  throw new StoreError("STORE_IO", "No place for the store was named: give `directory` or `path`.");
}

export interface OpenOptions {
  /** Opens next to a running server, or a copy: nothing is created or written. */
  readonly readOnly?: boolean;
  /** With `readOnly`: no process writes to the file, and it has no log. None is created then. */
  readonly isConstant?: boolean;
  /** How long a statement waits for another process, in milliseconds. Default 0. */
  readonly busyMs?: number;
}

/**
 * Opens a database in WAL mode with `synchronous=FULL`: a commit survives a loss of power. Automatic checkpoints are off; the caller makes
 * them (`Checkpointer`). A new file is readable by its owner only. Throws SQLite's errors and `StoreError`.
 */
export function openDatabase(path: string, options: OpenOptions = {}): DatabaseSync {
  const busyMs = options.busyMs ?? 0;
  if (options.readOnly) return openForReading(path, options.busyMs ?? 1_000, options.isConstant ?? false);
  // The WAL and its index get the mode of the file.
  makeFile(path);
  return closedOnThrow(connect(path, { timeout: busyMs }), (database) => {
    enterWal(database, busyMs);
    database.exec(
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = FAST",
    );
    return database;
  });
}

/** The result of `make`; closes the database where `make` throws. */
export function closedOnThrow<T>(database: DatabaseSync, make: (database: DatabaseSync) => T): T {
  try {
    return make(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Creates a file that only its owner may read; SQLite itself would create it readable for everyone. An existing file is not opened: if this
 * process has it open already, closing a second handle would release its locks. Throws the system's errors.
 */
export function makeFile(path: string): void {
  if (existsSync(path)) return accessSync(path, constants.W_OK);
  try {
    // "x": a dangling symbolic link is not followed.
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    // Unless another process created it first.
    if (!existsSync(path)) throw error;
  }
}

/** SQLite's busy timeout does not apply while two processes switch to WAL at once, so this retries. */
function enterWal(database: DatabaseSync, busyMs: number): void {
  for (let waitedMs = 0; ; waitedMs += 10) {
    try {
      database.exec("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (sqliteCode(error) !== 5 || waitedMs >= busyMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

function openForReading(path: string, timeout: number, isConstant: boolean): DatabaseSync {
  if (!existsSync(path))
    throw new StoreError("STORE_IO", `There is no store at ${path}. Name the directory a server was given with --data.`);
  if (isConstant) return connect(immutable(path), { readOnly: true, timeout });
  const database = connect(path, { readOnly: true, timeout });
  try {
    database.prepare("PRAGMA user_version").get();
    return database;
  } catch (error) {
    database.close();
    // A read-only directory has no room for the WAL's index. Without a WAL no process is writing, so the file can be opened as immutable.
    const wal = `${path}-wal`;
    if (!isDatabase(path) || (existsSync(wal) && statSync(wal).size > 0)) throw error;
    return connect(immutable(path), { readOnly: true, timeout });
  }
}

function immutable(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set("immutable", "1");
  return url;
}

function isDatabase(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const start = Buffer.alloc(15);
    return readSync(file, start) === 15 && start.toString("latin1") === "SQLite format 3";
  } finally {
    closeSync(file);
  }
}

/** Runs deletions that overwrite pages that they free, too: FAST leaves what is in these. */
export function overwriting<T>(database: DatabaseSync, run: () => T): T {
  if (pragma(database, "secure_delete") === 1) return run();
  database.exec("PRAGMA secure_delete = ON");
  try {
    return run();
  } finally {
    database.exec("PRAGMA secure_delete = FAST");
  }
}

/** A pragma whose value is a number. */
export const pragma = (database: DatabaseSync, name: string): number => int(database.prepare(`PRAGMA ${name}`).get()?.[name]);

/** Triggers and views are statements that run within others, and stay in the file: those of somebody else could change what commits write. */
function refuseForeignCode(database: DatabaseSync, scripts: readonly string[]): void {
  const found = database.prepare("SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')").all();
  const foreign = found.find(({ sql }) => !scripts.some((script) => script.includes(`${String(sql)};`)));
  if (foreign !== undefined)
    throw new StoreError(
      "STORE_CORRUPT",
      `This database has a ${String(foreign["type"])} that Troupe did not make, ${JSON.stringify(foreign["name"])}: it would run with what is stored. Restore the file from a copy.`,
    );
}

/**
 * Brings a file to the newest of `scripts` in one transaction; one script leads from each schema version to the next. Throws `STORE_NEWER`
 * for a file written by a later Troupe, `STORE_CORRUPT` for another program's database, or one that holds its code.
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
  if (!readOnly) refuseForeignCode(database, scripts);
  if (version === scripts.length) return;
  if (readOnly)
    throw new StoreError(
      "STORE_READ_ONLY",
      `This store has schema version ${version}. Serve it once with this Troupe: that brings it to version ${scripts.length}.`,
    );
  database.exec("BEGIN IMMEDIATE");
  try {
    // Read the version again: of several processes that share a file and start at once, one migrates.
    for (const script of scripts.slice(pragma(database, "user_version"))) database.exec(script);
    database.exec(`PRAGMA application_id = ${application}; PRAGMA user_version = ${scripts.length}; COMMIT`);
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    // A constraint failed though no other process writes, so the rows themselves do not fit the new tables.
    throw sqliteCode(error) === 19 ? damaged("its rows are not what was written", error) : error;
  }
}
