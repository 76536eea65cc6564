import { renameSync, rmSync } from "node:fs";
import { type StoreError, type SessionStore, type StreamStore, type TaskStore } from "../contract/index.ts";
import { closed } from "./memory-sessions.ts";
import { sqliteSessionStores, type SqliteSessionStores, type SqliteSessionOptions } from "./sessions.ts";
import { isDamage } from "./sqlite-error.ts";

export interface MendedSessionOptions extends SqliteSessionOptions {
  /** Told once for each damaged file, and where it was put. */
  readonly onDamage: (fault: StoreError, aside: string) => void;
}

/**
 * Session stores that begin anew where their file is damaged, at the start or later: a client whose session is not there
 * begins another one, so no damage to them is worth not serving for. The damaged file is kept beside it, as `….damaged`.
 * Throws `StoreError` for all else.
 */
export function mendedSessionStores(options: MendedSessionOptions): SqliteSessionStores {
  const { path, onDamage } = options;
  let stores: SqliteSessionStores | undefined;

  const begin = (fault: StoreError): SqliteSessionStores => {
    const aside = `${path}.damaged`;
    for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
    rmSync(aside, { recursive: true, force: true });
    renameSync(path, aside);
    const fresh = sqliteSessionStores(options);
    onDamage(fault, aside);
    return fresh;
  };
  const open = (): SqliteSessionStores => {
    try {
      return sqliteSessionStores(options);
    } catch (error) {
      if (isDamage(error)) return begin(error);
      throw error;
    }
  };
  stores = open();

  const ask = async <T>(run: (of: SqliteSessionStores) => Promise<T>): Promise<T> => {
    const asked = stores;
    if (asked === undefined) throw closed();
    try {
      return await run(asked);
    } catch (error) {
      if (!isDamage(error) || stores === undefined) throw error;
      if (stores === asked) {
        // Closed at once, and before its file goes: the last to close a database deletes the log of that name.
        void asked[Symbol.asyncDispose]();
        stores = begin(error);
      }
      return await run(stores);
    }
  };
  const close = async (): Promise<void> => {
    const last = stores;
    stores = undefined;
    await last?.[Symbol.asyncDispose]();
  };
  const sessions: SessionStore = {
    put: (row) => ask((of) => of.sessions.put(row)),
    get: (id) => ask((of) => of.sessions.get(id)),
    change: (id, change) => ask(async (of) => await of.sessions.change?.(id, change)),
    touch: (id, seenAt) => ask((of) => of.sessions.touch(id, seenAt)),
    delete: (id) => ask((of) => of.sessions.delete(id)),
    expire: (seenBefore) => ask((of) => of.sessions.expire(seenBefore)),
    [Symbol.asyncDispose]: close,
  };
  const streams: StreamStore = {
    append: (session, stream, message) => ask((of) => of.streams.append(session, stream, message)),
    after: (session, eventId) => ask((of) => of.streams.after(session, eventId)),
    drop: (session, stream) => ask(async (of) => await of.streams.drop?.(session, stream)),
    delete: (session) => ask((of) => of.streams.delete(session)),
    [Symbol.asyncDispose]: close,
  };
  const taskStore: TaskStore = {
    put: (row) => ask((of) => of.taskStore.put(row)),
    get: (id) => ask((of) => of.taskStore.get(id)),
    expire: (now) => ask((of) => of.taskStore.expire(now)),
    [Symbol.asyncDispose]: close,
  };
  return { sessions, streams, taskStore, [Symbol.asyncDispose]: close };
}
