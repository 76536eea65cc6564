import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync, DatabaseSyncOptions } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { StoreError } from "../contract/index.ts";
import { sqliteCode } from "./sqlite-error.ts";

/**
 * A file may come from elsewhere, so what its schema says is not trusted: it calls no function that has effects, and no statement
 * changes the file's format or the tables of others. Every database is opened here.
 */
export function connect(path: string | URL, options: DatabaseSyncOptions): DatabaseSync {
  // `import` of it costs ten times as much at start.
  const database: DatabaseSync = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path, { ...options, defensive: true });
  return orClosed(database, () => {
    database.exec("PRAGMA trusted_schema = OFF");
    return database;
  });
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
  /** Beside a running server, or on a copy: nothing is created or written. */
  readonly readOnly?: boolean;
  /** With `readOnly`: nobody writes to it, and it has no log. None is made then. */
  readonly isConstant?: boolean;
  /** How long a statement waits for another process, milliseconds. Default 0. */
  readonly busyMs?: number;
}

/** WAL, `synchronous=FULL`: what was committed survives a loss of power. Whoever writes copies its log (`WalLog`). Made readable by its owner only. Throws SQLite's errors and `StoreError`. */
export function openDatabase(path: string, options: OpenOptions = {}): DatabaseSync {
  const busyMs = options.busyMs ?? 0;
  if (options.readOnly) return openForReading(path, options.busyMs ?? 1_000, options.isConstant ?? false);
  // Its WAL and index take the mode of the file.
  makeFile(path);
  return orClosed(connect(path, { timeout: busyMs }), (database) => {
    enterWal(database, busyMs);
    database.exec(
      "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864; PRAGMA secure_delete = FAST",
    );
    return database;
  });
}

/** What `make` makes of a database, which is closed where it throws. */
export function orClosed<T>(database: DatabaseSync, make: (database: DatabaseSync) => T): T {
  try {
    return make(database);
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * A file for SQLite, which itself would make it for all to read. One that is there is not opened: where this process has it
 * open already, closing it once more would let go of the locks that it holds. Throws the system's errors.
 */
export function makeFile(path: string): void {
  if (existsSync(path)) return accessSync(path, constants.W_OK);
  try {
    // A link that leads nowhere is not followed.
    closeSync(openSync(path, "ax", 0o600));
  } catch (error) {
    // Another process was first.
    if (!existsSync(path)) throw error;
  }
}

/** SQLite does not wait here for another process that is just doing the same. */
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
  if (isConstant) return connect(constant(path), { readOnly: true, timeout });
  const database = connect(path, { readOnly: true, timeout });
  try {
    database.prepare("PRAGMA user_version").get();
    return database;
  } catch (error) {
    database.close();
    // In a directory that cannot be written there is no place for the WAL's index. Without a WAL nobody is writing: the file can be taken as constant.
    const wal = `${path}-wal`;
    if (!isDatabase(path) || (existsSync(wal) && statSync(wal).size > 0)) throw error;
    return connect(constant(path), { readOnly: true, timeout });
  }
}

function constant(path: string): URL {
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
