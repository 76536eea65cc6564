import { StoreError, type StoreCode } from "../contract/index.ts";

// https://www.sqlite.org/rescode.html: the low byte of an extended code is the primary one.
const MEANING: Readonly<Record<number, readonly [StoreCode, string]>> = {
  // Its own statements do not fit the schema it was given: the schema was changed.
  1: ["STORE_CORRUPT", "The store's file is damaged: its tables are not the ones written. Restore it from a copy."],
  5: ["STORE_LOCKED", "Another process is writing to the store. Close it, or wait and try again."],
  6: ["STORE_LOCKED", "Another connection is writing to the store. Close it, or wait and try again."],
  7: ["STORE_IO", "There is no memory left for the store. Free some, then try again."],
  8: [
    "STORE_READ_ONLY",
    "The store cannot be written. Check the permissions of its directory and files, and whether the disk is mounted read-only.",
  ],
  10: ["STORE_IO", "The disk failed to read or write. Nothing of this was kept; check the disk, then try again."],
  // SQLite says the same of a disk that fails to read (EIO), which may read again in a moment.
  11: [
    "STORE_CORRUPT",
    "The store's file is damaged, or the disk cannot read it. Check the disk first; then restore the file from a copy, without another log beside it. `troupe verify` says which actors are whole.",
  ],
  13: ["STORE_FULL", "The disk or its quota is full. Nothing of this was kept; free some space, then try again."],
  14: ["STORE_IO", "The store's file cannot be opened. Check that its directory exists and that this user may write there."],
  15: ["STORE_LOCKED", "Another process keeps the store busy. Wait and try again."],
  18: ["STORE_FULL", "This is larger than the store can keep in one piece (1 GB). Split the state over several actors."],
  19: ["STORE_CONFLICT", "Another writer was first. Load the actor again."],
  26: ["STORE_CORRUPT", "The store's file is not a database. Name another directory, or restore the file from a copy."],
};

/** SQLite's primary result code, where the error is one of SQLite's. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined;
  return error.errcode & 0xff;
}

/** The system's code of an error that is the system's, such as EIO. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/u.test(error.code)
    ? error.code
    : undefined;
}

/** SQLite's fsync failed: what it wrote may be dropped, and the next fsync reports success without it. */
export function isFailedSync(error: unknown): boolean {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  // SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC
  return error.errcode === 1034 || error.errcode === 1290;
}

/** Any fault of the file as a `StoreError` that says what to do. */
export function storeFault(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  const meaning = code === undefined ? undefined : MEANING[code];
  if (meaning) return new StoreError(meaning[0], meaning[1], { cause: error });
  const what = error instanceof Error ? error.message : String(error);
  return new StoreError("STORE_IO", `The store could not do this (${what}). Nothing of it was kept.`, { cause: error });
}

export const isDamage = (error: unknown): error is StoreError => error instanceof StoreError && error.code === "STORE_CORRUPT";

/**
 * The fault is of one write, in what it writes or in the page it meets there, and not of the disk: others of its group may be
 * written without it.
 */
export function isOfOneWrite(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === undefined || code === 11 || code === 18 || code === 19 || code === 20 || code === 25;
}
