// Owns: faults of a store's file as `StoreError`s, and columns read without trusting the file. Does not own: what a table's columns mean.

import { type ActorId, type Json, StoreError, type StoreCode } from "../contract/index.ts";

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
  const what = error instanceof Error ? error.message : String(error);
  return new StoreError("STORE_IO", `The store could not do this (${what}). Nothing of it was written.`, { cause: error });
}

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

// Columns may hold any type: the file is not trusted. Each reader throws `STORE_CORRUPT` for another type than its own.

export function int(value: unknown): number {
  if (typeof value === "number") return value;
  throw damaged("a number is missing");
}

export const maybeInt = (value: unknown): number | undefined => (value === null || value === undefined ? undefined : int(value));

export function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw damaged("a text is missing");
}

export const maybeText = (value: unknown): string | undefined => (value === null || value === undefined ? undefined : text(value));

export function parsed(value: unknown): Json {
  try {
    return JSON.parse(text(value));
  } catch (error) {
    throw damaged("a row is not what was written", error);
  }
}

export const actorId = (kind: unknown, key: unknown): ActorId => `${text(kind)}/${text(key)}`;

/** The kind and the key of an actor's id. */
export function split(id: string): readonly [kind: string, key: string] {
  const slash = id.indexOf("/");
  return [id.slice(0, slash), id.slice(slash + 1)];
}

/**
 * Up to `limit` readable rows. Rows that cannot be read are reported to `onDamaged` and do not count towards the limit; without
 * `onDamaged`, the first of them is thrown.
 */
export function readableRows<Columns, T>(
  limit: number,
  select: (limit: number) => readonly Columns[],
  read: (columns: Columns) => T,
  onDamaged: ((error: StoreError, columns: Columns) => void) | undefined,
): readonly T[] {
  for (let selected = limit; ;) {
    const rows = select(selected);
    const readable: T[] = [];
    const unreadable: (readonly [StoreError, Columns])[] = [];
    for (const columns of rows) {
      try {
        readable.push(read(columns));
      } catch (error) {
        if (onDamaged === undefined || !(error instanceof StoreError)) throw error;
        unreadable.push([error, columns]);
      }
    }
    if (readable.length < limit && rows.length >= selected) {
      selected = limit + unreadable.length;
      continue;
    }
    for (const [error, columns] of unreadable) onDamaged?.(error, columns);
    return readable;
  }
}
