// Owns: faults of a store's file as `StoreError`s, and what counts as damage. Does not own: rows that cannot be read (columns.ts), a lost log (log-loss.ts).

import { StoreError, type StoreCode } from "../contract/index.ts";
import { messageOf } from "../contract/internal.ts";

// https://www.sqlite.org/rescode.html: the low byte of an extended code is the primary one.
const MEANING: Readonly<Record<number, readonly [StoreCode, string]>> = {
  // SQLITE_ERROR: a statement of ours does not fit the file's schema, so the schema was changed.
  1: ["STORE_CORRUPT", "The store's file is damaged: its tables are not the ones written. Restore it from a copy."],
  5: ["STORE_LOCKED", "Another process is writing to the store. Close it, or wait and try again."],
  6: ["STORE_LOCKED", "Another connection is writing to the store. Close it, or wait and try again."],
  7: ["STORE_IO", "There is no memory left for the store. Free some, then try again."],
  8: [
    "STORE_READ_ONLY",
    "The store cannot be written. Check the permissions of its directory and files, and whether the disk is mounted read-only.",
  ],
  10: ["STORE_IO", "The disk failed to read or write. Nothing of this was written; check the disk, then try again."],
  // SQLITE_CORRUPT, which SQLite also reports for a disk that fails to read (EIO) and may work again in a moment.
  11: [
    "STORE_CORRUPT",
    "The store's file is damaged, or the disk cannot read it. Check the disk first; then restore the file from a copy, without another log next to it. `troupe verify` says which actors are whole.",
  ],
  13: ["STORE_FULL", "The disk or its quota is full. Nothing of this was written; free some space, then try again."],
  14: ["STORE_IO", "The store's file cannot be opened. Check that its directory exists and that this user may write there."],
  15: ["STORE_LOCKED", "Another process keeps the store busy. Wait and try again."],
  18: ["STORE_FULL", "This is larger than the store can hold in one piece (1 GB). Split the state over several actors."],
  19: ["STORE_CONFLICT", "Another writer was first. Load the actor again."],
  26: ["STORE_CORRUPT", "The store's file is not a database. Name another directory, or restore the file from a copy."],
};

/** SQLite's primary result code. Undefined: not an error of SQLite. */
export function sqliteCode(error: unknown): number | undefined {
  const code = extendedCode(error);
  return code === undefined ? undefined : code & 0xff;
}

const extendedCode = (error: unknown): number | undefined =>
  error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : undefined;

/** The operating system's code, such as EIO. Undefined: not an error of the system. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/u.test(error.code)
    ? error.code
    : undefined;
}

/**
 * SQLite's fsync failed (SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC): what it wrote may be dropped, and the next fsync reports success
 * without it.
 */
export function isFailedSync(error: unknown): boolean {
  const code = extendedCode(error);
  return code === 1034 || code === 1290;
}

/** Any fault of the file as a `StoreError` that says what to do. */
export function storeFault(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  const meaning = code === undefined ? undefined : MEANING[code];
  if (meaning) return new StoreError(meaning[0], meaning[1], { cause: error });
  if (isBeyondDoubles(error)) return damaged("a number is larger than any that is written", error);
  const what = messageOf(error);
  return new StoreError("STORE_IO", `The store could not do this (${what}). Nothing of it was written.`, { cause: error });
}

/** Node reads an SQLite integer beyond 2^53 - 1 as an error. */
const isBeyondDoubles = (error: unknown): boolean => error instanceof RangeError && "code" in error && error.code === "ERR_OUT_OF_RANGE";

export const isDamage = (error: unknown): error is StoreError => error instanceof StoreError && error.code === "STORE_CORRUPT";

/** The fault concerns a single write: what it contains or a page it touches, not the disk. The rest of its batch can be written without it. */
export function isOfOneWrite(error: unknown): boolean {
  const code = sqliteCode(error);
  return code === undefined || code === 11 || code === 18 || code === 19 || code === 20 || code === 25;
}

/** `STORE_CORRUPT`. `data.seq` is the event that cannot be read, where the damage is in an event. */
export const damaged = (what: string, cause?: unknown, data?: { readonly seq: number }): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `The store's file is damaged: ${what}. Restore it from a copy; \`troupe verify\` says which actors are whole.`,
    { cause, ...(data === undefined ? {} : { data }) },
  );
