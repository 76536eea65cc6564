// Owns: sessions, what was sent on their streams, and tasks, in a file that several processes may share. Does not own: the same in memory.
//
// Unlike actors, a session may be lost with the power (not with the process): its client begins a new one. So no write waits for the disk.

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  changedSession,
  eventId,
  isBag,
  isSessionRow,
  readEventId,
  type SessionRow,
  type SessionStore,
  StoreError,
  STREAM_BOUNDS,
  type StreamBounds,
  type StreamStore,
  type TaskStore,
} from "../contract/index.ts";
import { CHECKPOINT_FRAMES, frameCounts } from "./checkpointer.ts";
import { closedOnThrow, migrate, openDatabase } from "./database.ts";
import { damaged, int, isDamage, isFailedSync, maybeText, parsed, storeFault, text } from "./faults.ts";
import { closed } from "./rules.ts";

/** "TrpS" */
const APPLICATION = 0x54_72_70_53;

/** After so many writes, a checkpoint is made if the log is long. */
const CHECKPOINT_WRITES = 8;

/** Expired sessions deleted in one transaction. */
const BATCH = 1_000;

const SCHEMA = [
  `
  CREATE TABLE session(id TEXT PRIMARY KEY, seen INTEGER NOT NULL, row TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX session_seen ON session(seen);
  CREATE TABLE stream(session TEXT NOT NULL, name TEXT NOT NULL, last INTEGER NOT NULL, bytes INTEGER NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY(session, name)) WITHOUT ROWID;
  CREATE TABLE message(session TEXT NOT NULL, name TEXT NOT NULL, n INTEGER NOT NULL, bytes INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY(session, name, n)) WITHOUT ROWID;
  `,
  `
  CREATE TABLE task(id TEXT PRIMARY KEY, principal TEXT, told TEXT NOT NULL, over INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX task_until ON task(until);
  `,
  // SQLite writes whole rows, so columns that change are apart from those that never do and may be long, and each subscription is a row.
  `
  CREATE TABLE session_fixed(session TEXT PRIMARY KEY, row TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE subscription(session TEXT NOT NULL, n INTEGER NOT NULL, uri TEXT NOT NULL, PRIMARY KEY(session, n)) WITHOUT ROWID;
  UPDATE session SET row = '{}' WHERE NOT json_valid(row);
  INSERT INTO subscription SELECT session.id, key, value FROM session, json_each(row, '$.subscriptions');
  INSERT INTO session_fixed SELECT id, json_remove(row, '$.subscriptions', '$.logLevel', '$.listener', '$.seenAt') FROM session;
  ALTER TABLE session ADD COLUMN level TEXT;
  ALTER TABLE session ADD COLUMN listener TEXT;
  UPDATE session SET level = row ->> '$.logLevel', listener = row ->> '$.listener';
  ALTER TABLE session DROP COLUMN row;
  CREATE TRIGGER session_deleted AFTER DELETE ON session BEGIN
    DELETE FROM session_fixed WHERE session = old.id;
    DELETE FROM subscription WHERE session = old.id;
  END;
  `,
];

export interface SessionStores extends AsyncDisposable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/** All stores of one file. */
export interface SqliteSessionStores extends SessionStores {
  /** For one process at a time, even where several share the file. */
  readonly taskStore: TaskStore;
}

export interface SqliteSessionOptions {
  /** The file; its directory is created. */
  readonly path: string;
  readonly bounds?: Partial<StreamBounds>;
  /** How long a write waits for another process. Default 2,000 ms. */
  readonly busyMs?: number;
}

/** All three stores on one file; disposing any of the four closes it. Throws `StoreError`. */
export function sqliteSessionStores(options: SqliteSessionOptions): SqliteSessionStores {
  try {
    mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 });
    return closedOnThrow(openDatabase(options.path, { busyMs: options.busyMs ?? 2_000 }), (database) => {
      // However long the log has become, because of a reader in another process for example, it is cut to what writing needs.
      database.exec("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304");
      migrate(database, APPLICATION, SCHEMA);
      return storesOn(database, { ...STREAM_BOUNDS, ...options.bounds });
    });
  } catch (error) {
    const fault = storeFault(error);
    throw new StoreError(fault.code, `${options.path}: ${fault.message}`, { cause: error });
  }
}

type Run = <T>(work: () => T) => Promise<T>;

function storesOn(database: DatabaseSync, bounds: StreamBounds): SqliteSessionStores {
  let open = true;
  let broken: StoreError | undefined;
  let writes = 0;
  const counts = frameCounts(database);
  // SQLite's automatic checkpoints would hide that a sync failed. The log may have gaps then, and the next checkpoint would copy them.
  const checkpoint = (): void => {
    writes = 0;
    try {
      if (Number(counts?.get()?.["log"] ?? CHECKPOINT_FRAMES) >= CHECKPOINT_FRAMES) database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      // Any other failure is retried with a later write; nothing is lost until then.
      if (isFailedSync(error))
        broken = new StoreError("STORE_CORRUPT", "The disk failed to keep what was written to the sessions.", { cause: error });
    }
  };
  const read: Run = async (work) => {
    if (!open) throw closed("session store");
    if (broken !== undefined) throw broken;
    try {
      return work();
    } catch (error) {
      throw storeFault(error);
    }
  };
  const write: Run = (work) =>
    read(() => {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = work();
        database.exec("COMMIT");
        if (++writes >= CHECKPOINT_WRITES) checkpoint();
        return result;
      } finally {
        if (database.isTransaction) database.exec("ROLLBACK");
      }
    });
  const close = async (): Promise<void> => {
    if (open) database.close();
    open = false;
  };
  return {
    sessions: { ...sessionsOn(database, read, write), [Symbol.asyncDispose]: close },
    streams: { ...streamsOn(database, bounds, read, write), [Symbol.asyncDispose]: close },
    taskStore: { ...tasksOn(database, read, write), [Symbol.asyncDispose]: close },
    [Symbol.asyncDispose]: close,
  };
}

function sessionsOn(database: DatabaseSync, read: Run, write: Run): Omit<SessionStore, typeof Symbol.asyncDispose> {
  const put = database.prepare(
    "INSERT INTO session VALUES(?,?,?,?) ON CONFLICT(id) DO UPDATE SET seen = excluded.seen, level = excluded.level, listener = excluded.listener",
  );
  const putFixed = database.prepare("INSERT INTO session_fixed VALUES(?,?) ON CONFLICT(session) DO UPDATE SET row = excluded.row");
  const get = database.prepare(
    `SELECT seen, level, listener, row, (SELECT json_group_array(uri) FROM (SELECT uri FROM subscription WHERE session = id ORDER BY n)) AS uris
     FROM session LEFT JOIN session_fixed ON session = id WHERE id = ?`,
  );
  const set = database.prepare("UPDATE session SET level = ?, listener = ? WHERE id = ?");
  const subscribe = database.prepare(
    "INSERT INTO subscription SELECT ?1, coalesce(max(n), -1) + 1, ?2 FROM subscription WHERE session = ?1",
  );
  const unsubscribe = database.prepare("DELETE FROM subscription WHERE session = ? AND uri = ?");
  const unsubscribeAll = database.prepare("DELETE FROM subscription WHERE session = ?");
  const touch = database.prepare("UPDATE session SET seen = ? WHERE id = ? AND seen < ?");
  const remove = database.prepare("DELETE FROM session WHERE id = ?");
  const expire = database.prepare(`DELETE FROM session WHERE id IN (SELECT id FROM session WHERE seen < ? LIMIT ${BATCH}) RETURNING id`);
  const rowOf = (id: string): SessionRow | undefined => {
    const columns = get.get(id);
    if (columns === undefined) return undefined;
    const fixed = parsed(columns["row"]);
    const [logLevel, listener] = [maybeText(columns["level"]), maybeText(columns["listener"])];
    const row = isBag(fixed) && {
      ...fixed,
      subscriptions: parsed(columns["uris"]),
      ...(logLevel === undefined ? undefined : { logLevel }),
      ...(listener === undefined ? undefined : { listener }),
      seenAt: int(columns["seen"]),
    };
    if (!isSessionRow(row)) throw damaged("a session is none");
    return row;
  };
  return {
    put: (row) =>
      write(() => {
        const { subscriptions, logLevel, listener, seenAt, ...fixed } = row;
        put.run(row.id, seenAt, logLevel ?? null, listener ?? null);
        putFixed.run(row.id, JSON.stringify(fixed));
        unsubscribeAll.run(row.id);
        for (const uri of subscriptions) subscribe.run(row.id, uri);
      }),
    get: (id) => read(() => rowOf(id)),
    change: (id, change) =>
      write(() => {
        const row = rowOf(id);
        if (row === undefined) return undefined;
        const changed = changedSession(row, change);
        if (changed === row) return row;
        const { logLevel, listener } = changed;
        if (logLevel !== row.logLevel || listener !== row.listener) set.run(logLevel ?? null, listener ?? null, id);
        if (changed.subscriptions === row.subscriptions) return changed;
        for (const uri of [change.subscribe, change.unsubscribe]) if (uri !== undefined) unsubscribe.run(id, uri);
        if (change.subscribe !== undefined) subscribe.run(id, change.subscribe);
        return changed;
      }),
    touch: (id, seenAt) => write(() => void touch.run(seenAt, id, seenAt)),
    delete: (id) => write(() => void remove.run(id)),
    async expire(seenBefore) {
      const expired: string[] = [];
      for (;;) {
        const batch = await write(() => expire.all(seenBefore).map((columns) => text(columns["id"])));
        expired.push(...batch);
        if (batch.length < BATCH) return expired;
        // Lets other requests in between two batches.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    },
  };
}

function tasksOn(database: DatabaseSync, read: Run, write: Run): Omit<TaskStore, typeof Symbol.asyncDispose> {
  const put = database.prepare("INSERT OR REPLACE INTO task VALUES(?,?,?,?,?)");
  const get = database.prepare("SELECT principal, told, over, until FROM task WHERE id = ?");
  const expire = database.prepare(`DELETE FROM task WHERE id IN (SELECT id FROM task WHERE until <= ? LIMIT ${BATCH})`);
  return {
    put: ({ id, principal, told, over, until }) => write(() => void put.run(id, principal ?? null, told, over ? 1 : 0, until)),
    get: (id) =>
      read(() => {
        const columns = get.get(id);
        if (columns === undefined) return undefined;
        const { principal, told, over, until } = columns;
        const row = { id, told: text(told), over: int(over) === 1, until: int(until) };
        return principal === null ? row : { ...row, principal: text(principal) };
      }),
    expire: (now) => write(() => void expire.run(now)),
  };
}

function streamsOn(database: DatabaseSync, bounds: StreamBounds, read: Run, write: Run): Omit<StreamStore, typeof Symbol.asyncDispose> {
  const grow = database.prepare(
    `INSERT INTO stream VALUES(?1, ?2, 1, ?3, (SELECT coalesce(max(turn), 0) + 1 FROM stream WHERE session = ?1))
     ON CONFLICT(session, name) DO UPDATE SET last = last + 1, bytes = bytes + ?3, turn = excluded.turn RETURNING last, bytes`,
  );
  const insert = database.prepare("INSERT INTO message VALUES(?,?,?,?,?)");
  const oldest = database.prepare("SELECT n, bytes FROM message WHERE session = ? AND name = ? ORDER BY n LIMIT 1");
  const drop = database.prepare("DELETE FROM message WHERE session = ? AND name = ? AND n <= ?");
  const shrink = database.prepare("UPDATE stream SET bytes = ? WHERE session = ? AND name = ?");
  const idle = database.prepare("SELECT name FROM stream WHERE session = ? ORDER BY turn DESC LIMIT -1 OFFSET ?");
  const forget = database.prepare("DELETE FROM stream WHERE session = ? AND name = ?");
  const last = database.prepare("SELECT last FROM stream WHERE session = ? AND name = ?");
  const following = database.prepare("SELECT n, message FROM message WHERE session = ? AND name = ? AND n > ? ORDER BY n");
  const removeStreams = database.prepare("DELETE FROM stream WHERE session = ?");
  const removeMessages = database.prepare("DELETE FROM message WHERE session = ?");
  return {
    append: (session, name, message) =>
      write(() => {
        const written = JSON.stringify(message);
        const size = Buffer.byteLength(written);
        const columns = grow.get(session, name, size);
        const n = int(columns?.["last"]);
        let bytes = int(columns?.["bytes"]);
        insert.run(session, name, n, size, written);
        const before = bytes;
        drop.run(session, name, n - bounds.messages);
        while (bytes > bounds.bytes) {
          const first = oldest.get(session, name);
          if (first === undefined) break;
          bytes -= int(first["bytes"]);
          drop.run(session, name, int(first["n"]));
        }
        if (bytes !== before) shrink.run(bytes, session, name);
        for (const other of idle.all(session, bounds.streams)) {
          drop.run(session, text(other["name"]), Number.MAX_SAFE_INTEGER);
          forget.run(session, text(other["name"]));
        }
        return eventId(name, n);
      }),
    after: (session, id) =>
      read(() => {
        const place = readEventId(id);
        if (place === undefined) return undefined;
        const { stream, n } = place;
        const columns = last.get(session, stream);
        if (columns === undefined || n > int(columns["last"])) return undefined;
        const rows = following.all(session, stream, n);
        if (rows.length !== int(columns["last"]) - n) return undefined;
        return { stream, messages: rows.map((row) => ({ id: eventId(stream, int(row["n"])), message: parsed(row["message"]) })) };
      }),
    drop: (session, stream) =>
      write(() => {
        drop.run(session, stream, Number.MAX_SAFE_INTEGER);
        forget.run(session, stream);
      }),
    delete: (session) =>
      write(() => {
        removeStreams.run(session);
        removeMessages.run(session);
      }),
  };
}

export interface MendedSessionOptions extends SqliteSessionOptions {
  /** Called once for each damaged file, with the path it was moved to. */
  readonly onDamage: (fault: StoreError, aside: string) => void;
}

/**
 * Session stores that repair themselves: where the file is damaged, at the start or later, they move it to `….damaged` and begin a new one.
 * A client whose session is missing begins another, so damaged sessions must not keep a server from starting. Throws `StoreError` for all other
 * faults.
 */
export function mendedSessionStores(options: MendedSessionOptions): SqliteSessionStores {
  const { path, onDamage } = options;
  const replace = (fault: StoreError): SqliteSessionStores => {
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
      if (isDamage(error)) return replace(error);
      throw error;
    }
  };
  let current: SqliteSessionStores | undefined = open();

  const run = async <T>(work: (stores: SqliteSessionStores) => Promise<T>): Promise<T> => {
    const used = current;
    if (used === undefined) throw closed("session store");
    try {
      return await work(used);
    } catch (error) {
      if (!isDamage(error) || current === undefined) throw error;
      if (current === used) {
        // Closed before its file is moved: the last connection to close deletes the log by its name.
        void used[Symbol.asyncDispose]();
        current = replace(error);
      }
      return await work(current);
    }
  };
  const close = async (): Promise<void> => {
    const last = current;
    current = undefined;
    await last?.[Symbol.asyncDispose]();
  };
  const sessions: SessionStore = {
    put: (row) => run((stores) => stores.sessions.put(row)),
    get: (id) => run((stores) => stores.sessions.get(id)),
    change: (id, change) => run(async (stores) => await stores.sessions.change?.(id, change)),
    touch: (id, seenAt) => run((stores) => stores.sessions.touch(id, seenAt)),
    delete: (id) => run((stores) => stores.sessions.delete(id)),
    expire: (seenBefore) => run((stores) => stores.sessions.expire(seenBefore)),
    [Symbol.asyncDispose]: close,
  };
  const streams: StreamStore = {
    append: (session, stream, message) => run((stores) => stores.streams.append(session, stream, message)),
    after: (session, id) => run((stores) => stores.streams.after(session, id)),
    drop: (session, stream) => run(async (stores) => await stores.streams.drop?.(session, stream)),
    delete: (session) => run((stores) => stores.streams.delete(session)),
    [Symbol.asyncDispose]: close,
  };
  const taskStore: TaskStore = {
    put: (row) => run((stores) => stores.taskStore.put(row)),
    get: (id) => run((stores) => stores.taskStore.get(id)),
    expire: (now) => run((stores) => stores.taskStore.expire(now)),
    [Symbol.asyncDispose]: close,
  };
  return { sessions, streams, taskStore, [Symbol.asyncDispose]: close };
}
