// Owns: the SQLite file of the search index: its schema, opening, replacing and its faults. Does not own: its rows (index-rows.ts).
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../../../core/contract/index.ts";
import { messageOf } from "../../../core/contract/internal.ts";

/**
 * `doc` holds the text of one event, `words` finds it. A doc's id consists of its owner's number and its time, so that an owner's texts
 * are adjacent, newest last, and a search reads only those. `words` has no content of its own, which would be a second copy of the text.
 * It receives words that are already split, so only ASCII characters separate them.
 */
const TABLES = `
  CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE owner(id INTEGER PRIMARY KEY, principal TEXT NOT NULL UNIQUE, late INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE actor(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, life TEXT NOT NULL, owner TEXT, seq INTEGER NOT NULL, head TEXT NOT NULL);
  CREATE UNIQUE INDEX actor_name ON actor(kind, key);
  CREATE TABLE doc(id INTEGER PRIMARY KEY, actor INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, event BLOB NOT NULL, text TEXT NOT NULL);
  CREATE UNIQUE INDEX doc_event ON doc(actor, seq);
  CREATE VIRTUAL TABLE words USING fts5(
    text, scope, content='', prefix='3', tokenize='ascii');
`;
/** Increased with every change of the stored format: an older file is recreated. */
const LAYOUT = 4;
const BUSY = 5;
const CORRUPT = 11;
const READ_ONLY = 8;
const FULL = 13;
const NOT_A_DATABASE = 26;

const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : undefined;

/** A column or a row is not what was written. */
export class CorruptRow extends Error {
  override readonly name = "Unreadable";
}

export const isDamage = (error: unknown): boolean =>
  error instanceof CorruptRow || codeOf(error) === CORRUPT || codeOf(error) === NOT_A_DATABASE;

/** Names the file, and what to do about it. */
function fileFault(error: unknown, file: string): StoreError {
  if (error instanceof StoreError) return error;
  const code = codeOf(error);
  const system = error instanceof Error && "code" in error ? error.code : undefined;
  const fault = (name: ConstructorParameters<typeof StoreError>[0], what: string): StoreError =>
    new StoreError(name, `The search index ${file} ${what}`, { cause: error });
  if (code === BUSY) return fault("STORE_LOCKED", "belongs to another process: stop that one, or name another file.");
  if (code === READ_ONLY || system === "EACCES" || system === "EROFS" || system === "EPERM")
    return fault("STORE_READ_ONLY", "cannot be written: check who owns its directory, or name another file.");
  if (code === FULL || system === "ENOSPC")
    return fault("STORE_FULL", "has no space left: free some. What is missing in it is added then.");
  return fault("STORE_IO", `cannot be used (${messageOf(error)}): name another file.`);
}

/** The file, and those that SQLite creates next to it. */
const FILES = ["", "-wal", "-shm", "-journal"] as const;

/** Opened like a store's file: the schema in the file is not trusted. */
const connect = (file: string): DatabaseSync =>
  new (process.getBuiltinModule("node:sqlite").DatabaseSync)(file, { timeout: 0, defensive: true });

/**
 * Opens the index. Recreates it on request, and if it is missing, damaged, or made for another `purpose`. Only one process can have it open.
 * Throws `StoreError`.
 */
export function openIndex(file: string, purpose: string, recreate: boolean): DatabaseSync {
  try {
    if (file === ":memory:") return withTables(connect(file), purpose);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    return (recreate ? undefined : openExisting(file, purpose)) ?? withTables(createFile(file), purpose);
  } catch (error) {
    throw fileFault(error, file);
  }
}

/** Undefined: the file cannot be used. */
function openExisting(file: string, purpose: string): DatabaseSync | undefined {
  // Opening a pipe would block until its other end opens.
  if (!existsSync(file) || FILES.some((end) => statSync(file + end, { throwIfNoEntry: false })?.isFIFO() === true)) return undefined;
  let database: DatabaseSync | undefined;
  try {
    database = configured(connect(file));
    const known = database.prepare("SELECT value FROM meta WHERE name = 'purpose'").get()?.["value"];
    // Also reads the directory of `words`, which shows damage there.
    database.prepare("SELECT rowid FROM words WHERE words MATCH '\"a\"' LIMIT 1").get();
    if (known === purposeStamp(purpose)) return database;
  } catch (error) {
    database?.close();
    // Error 1: a file without our tables. The owner must be known before the file is replaced, so other errors are thrown.
    if (isDamage(error) || codeOf(error) === 1) return undefined;
    throw error;
  }
  database.close();
  return undefined;
}

/** An empty new file, so that none of its pages holds erased text. */
function createFile(file: string): DatabaseSync {
  for (const end of FILES) rmSync(file + end, { force: true });
  // SQLite would make the file readable for all; the WAL gets the mode of the file.
  closeSync(openSync(file, "a", 0o600));
  return configured(connect(file));
}

/** A loss of power loses the last commits, rows and cursors together, and they are read again. So `synchronous` need not be FULL. */
function configured(database: DatabaseSync): DatabaseSync {
  try {
    // `secure_delete`: removed text may have been erased on purpose.
    database.exec(
      "PRAGMA trusted_schema = OFF; PRAGMA secure_delete = ON; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000; PRAGMA journal_size_limit = 16777216; BEGIN EXCLUSIVE; COMMIT",
    );
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function withTables(database: DatabaseSync, purpose: string): DatabaseSync {
  try {
    database.exec(`BEGIN; ${TABLES}; INSERT INTO words(words, rank) VALUES('secure-delete', 1)`);
    database.prepare("INSERT INTO meta VALUES('purpose', ?)").run(purposeStamp(purpose));
    database.exec("COMMIT");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const purposeStamp = (purpose: string): string => `${LAYOUT} ${purpose}`;
