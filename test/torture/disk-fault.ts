/**
 * Preloaded into a server: the fault that the file TROUPE_TEST_DISK names applies to
 * every database of the process, from its next transaction on. `full`: no further page. `sync`: a
 * commit cannot be synced to the disk. Anything else, or no file: no fault.
 */
import { readFileSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";

const file = process.env["TROUPE_TEST_DISK"] ?? "";
const { DatabaseSync: database } = process.getBuiltinModule("node:sqlite");
const whole = Object.getOwnPropertyDescriptor(database.prototype, "exec")?.value;

const fault = (): string => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};

const pages = (of: DatabaseSync): number => Number(of.prepare("PRAGMA page_count").get()?.["page_count"] ?? 1);
const exec = (of: DatabaseSync, sql: string): void => void Reflect.apply(whole, of, [sql]);
const bounded = new WeakSet<DatabaseSync>();

Object.defineProperty(database.prototype, "exec", {
  value(this: DatabaseSync, sql: string): void {
    if (sql.startsWith("BEGIN IMMEDIATE")) {
      const full = fault() === "full";
      // The file may not grow; free pages in it may still be used, as on a real disk.
      if (full && !bounded.has(this)) exec(this, `PRAGMA max_page_count = ${pages(this)}`);
      if (!full && bounded.has(this)) exec(this, "PRAGMA max_page_count = 4294967294");
      if (full) bounded.add(this);
      else bounded.delete(this);
    }
    // SQLite's code for a failed fsync: SQLITE_IOERR_FSYNC.
    if (sql === "COMMIT" && fault() === "sync") throw Object.assign(new Error("disk I/O error"), { errcode: 1_034 });
    exec(this, sql);
  },
});
