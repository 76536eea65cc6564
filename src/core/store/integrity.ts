import { join } from "node:path";
import { text } from "./column.ts";
import type { StorePlace } from "./open-database.ts";
import { openToRead } from "./open-store.ts";
import { Outbox } from "./outbox.ts";
import { storeFault } from "./sqlite-error.ts";

const MOST = 100;

/**
 * What SQLite finds wrong with a store's file, its indexes included, and messages that were
 * changed while they waited, at most 100 lines; none where it is whole. Reads the whole file,
 * beside a running server too. Chains prove themselves; this finds what hides an actor, such
 * as a flipped bit in an index, and what would never be delivered.
 * Throws `StoreError` where the file cannot be opened.
 */
export function checkFile(place: StorePlace): readonly string[] {
  const path = place.path ?? join(place.directory ?? ".", "troupe.db");
  try {
    const database = openToRead(path);
    try {
      const found = database.prepare("PRAGMA integrity_check").all();
      const lines = found.map((row) => text(row["integrity_check"])).filter((line) => line !== "ok");
      return lines.length > 0 ? lines : new Outbox(database).flaws(MOST);
    } finally {
      database.close();
    }
  } catch (error) {
    const fault = storeFault(error);
    if (fault.code === "STORE_CORRUPT") return [fault.message];
    throw fault;
  }
}
