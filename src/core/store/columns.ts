// Owns: reading columns and rows without trusting the file. Does not own: what a table's columns mean, the errors (store-errors.ts).
import { type ActorId, type Json, StoreError } from "../contract/index.ts";
import { damaged } from "./store-errors.ts";

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
