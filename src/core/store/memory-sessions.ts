import { changedSession, type SessionRow, type SessionStore, StoreError } from "../contract/index.ts";

/** How much one process holds. */
export interface MemoryBounds {
  /** Sessions; of more, the one seen (written to, for streams) longest ago goes. Default 100,000. */
  readonly sessions?: number;
}

export const MOST_SESSIONS = 100_000;

export const closed = (): StoreError => new StoreError("STORE_CLOSED", "The session store is closed. Open it again.");

/** A map's order is that of the last setting: the first is the one set longest ago. Returns what had to go for the new one. */
export function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): T | undefined {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return undefined;
  for (const [oldest, gone] of map) {
    map.delete(oldest);
    return gone;
  }
  return undefined;
}

/** Sessions of one process: gone with it. */
export function memorySessionStore({ sessions: most = MOST_SESSIONS }: MemoryBounds = {}): SessionStore {
  const rows = new Map<string, SessionRow>();
  let open = true;
  const all = (): Map<string, SessionRow> => {
    if (open) return rows;
    throw closed();
  };
  return {
    async put(row) {
      setBounded(all(), row.id, row, most);
    },
    async get(id) {
      return all().get(id);
    },
    async change(id, change) {
      const row = all().get(id);
      if (row === undefined) return undefined;
      const changed = changedSession(row, change);
      rows.set(id, changed);
      return changed;
    },
    async touch(id, seenAt) {
      const row = all().get(id);
      if (row && row.seenAt < seenAt) setBounded(rows, id, { ...row, seenAt }, most);
    },
    async delete(id) {
      all().delete(id);
    },
    async expire(seenBefore) {
      const gone = [...all().values()].filter((row) => row.seenAt < seenBefore).map((row) => row.id);
      for (const id of gone) rows.delete(id);
      return gone;
    },
    async [Symbol.asyncDispose]() {
      open = false;
      rows.clear();
    },
  };
}
