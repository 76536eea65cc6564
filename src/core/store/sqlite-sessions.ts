// Owns: sessions, what was sent on their streams, and tasks, in a file that several processes may share. Does not own: the same in memory.
//
// Unlike actors, a session may be lost with the power (not with the process): its client begins a new one. So no write waits for the disk.

import { mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import {
  boundsOf,
  changedSession,
  checkOptions,
  type Closable,
  eventId,
  FUNCTION,
  isJsonObject,
  isSessionRow,
  type OptionTable,
  readEventId,
  type SessionRow,
  type SessionStore,
  StoreError,
  STREAM_BOUNDS,
  type StreamBounds,
  type StreamStore,
  type TaskRow,
  type TaskStore,
} from "../contract/index.ts";
import { TEXT, DURATION } from "../contract/internal.ts";
import { CHECKPOINT_FRAMES, frameCounts } from "./checkpointer.ts";
import { closedOnThrow, migrate, openDatabase } from "./database.ts";
import { damaged, isDamage, isFailedSync, storeFault } from "./store-errors.ts";
import { int, maybeText, parsed, text } from "./columns.ts";
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

/** Of the file, after all migrations. */
export const SESSIONS_VERSION = SCHEMA.length;

export interface SessionStores extends Closable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/** All stores of one file. */
export interface SqliteSessionStores extends SessionStores {
  /** For one process at a time, even where several share the file. */
  readonly taskStore: TaskStore;
}

/** What `sqliteSessionStores` takes. */
export interface SqliteSessionOptions {
  /** The file; its directory is created. */
  readonly path: string;
  readonly bounds?: Partial<StreamBounds>;
  /** How long a write waits for another process. Default 2,000 ms. */
  readonly busyMs?: number;
}

const OPTIONS: OptionTable<SqliteSessionOptions> = { path: TEXT, bounds: boundsOf(STREAM_BOUNDS), busyMs: DURATION };

/** All three stores on one file; disposing any of the four closes it. Throws `StoreError`, `BAD_OPTION`. */
export function sqliteSessionStores(options: SqliteSessionOptions): SqliteSessionStores {
  checkOptions("sqliteSessionStores", options, OPTIONS);
  return new StoresOnFile(new SessionFile(options), options.bounds);
}

/** What `mendedSessionStores` takes: it moves a damaged file away and begins an empty one. */
export interface MendedSessionOptions extends SqliteSessionOptions {
  /** Called once for each damaged file, with the path it was moved to. */
  readonly onDamage: (fault: StoreError, aside: string) => void;
}

/**
 * Session stores that repair themselves: where the file is damaged, at the start or later, they move it to `….damaged` and begin a new
 * one. A client whose session is missing begins another, so damaged sessions must not keep a server from starting. Throws `StoreError`
 * for all other faults, and `BAD_OPTION`.
 */
export function mendedSessionStores(options: MendedSessionOptions): SqliteSessionStores {
  checkOptions("mendedSessionStores", options, { ...OPTIONS, onDamage: FUNCTION });
  return new StoresOnFile(new SessionFile(options, options.onDamage), options.bounds);
}

/** A class, so that `{ ...stores }` as options of a server copies the stores and not `close`. */
class StoresOnFile implements SqliteSessionStores {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly taskStore: TaskStore;
  readonly #file: SessionFile;

  constructor(file: SessionFile, bounds: Partial<StreamBounds> | undefined) {
    const close = async (): Promise<void> => file.close();
    this.sessions = { ...sessionsIn(file), [Symbol.asyncDispose]: close };
    this.streams = { ...streamsIn(file, { ...STREAM_BOUNDS, ...bounds }), [Symbol.asyncDispose]: close };
    this.taskStore = { ...tasksIn(file), [Symbol.asyncDispose]: close };
    this.#file = file;
  }

  async close(): Promise<void> {
    this.#file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** An open file and its statements. */
function open({ path, busyMs = 2_000 }: SqliteSessionOptions) {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return closedOnThrow(openDatabase(path, { busyMs }), (database) => {
      // However long the log has become, because of a reader in another process for example, it is cut to what writing needs.
      database.exec("PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304");
      migrate(database, APPLICATION, SCHEMA);
      return { database, frames: frameCounts(database), ...statements(database) };
    });
  } catch (error) {
    const fault = storeFault(error);
    throw new StoreError(fault.code, `${path}: ${fault.message}`, { cause: error });
  }
}

type OpenFile = ReturnType<typeof open>;

const statements = (database: DatabaseSync) => ({
  putSession: database.prepare(
    "INSERT INTO session VALUES(?,?,?,?) ON CONFLICT(id) DO UPDATE SET seen = excluded.seen, level = excluded.level, listener = excluded.listener",
  ),
  putFixed: database.prepare("INSERT INTO session_fixed VALUES(?,?) ON CONFLICT(session) DO UPDATE SET row = excluded.row"),
  session: database.prepare(
    `SELECT seen, level, listener, row, (SELECT json_group_array(uri) FROM (SELECT uri FROM subscription WHERE session = id ORDER BY n)) AS uris
     FROM session LEFT JOIN session_fixed ON session = id WHERE id = ?`,
  ),
  setSession: database.prepare("UPDATE session SET level = ?, listener = ? WHERE id = ?"),
  touchSession: database.prepare("UPDATE session SET seen = ? WHERE id = ? AND seen < ?"),
  deleteSession: database.prepare("DELETE FROM session WHERE id = ?"),
  expireSessions: database.prepare(`DELETE FROM session WHERE id IN (SELECT id FROM session WHERE seen < ? LIMIT ${BATCH}) RETURNING id`),
  subscribe: database.prepare("INSERT INTO subscription SELECT ?1, coalesce(max(n), -1) + 1, ?2 FROM subscription WHERE session = ?1"),
  unsubscribe: database.prepare("DELETE FROM subscription WHERE session = ? AND uri = ?"),
  unsubscribeAll: database.prepare("DELETE FROM subscription WHERE session = ?"),
  putTask: database.prepare("INSERT OR REPLACE INTO task VALUES(?,?,?,?,?)"),
  task: database.prepare("SELECT principal, told AS description, over, until FROM task WHERE id = ?"),
  tasks: database.prepare("SELECT id, principal, told AS description, over, until FROM task ORDER BY until DESC LIMIT ?"),
  expireTasks: database.prepare(`DELETE FROM task WHERE id IN (SELECT id FROM task WHERE until <= ? LIMIT ${BATCH})`),
  growStream: database.prepare(
    `INSERT INTO stream VALUES(?1, ?2, 1, ?3, (SELECT coalesce(max(turn), 0) + 1 FROM stream WHERE session = ?1))
     ON CONFLICT(session, name) DO UPDATE SET last = last + 1, bytes = bytes + ?3, turn = excluded.turn RETURNING last, bytes`,
  ),
  shrinkStream: database.prepare("UPDATE stream SET bytes = ? WHERE session = ? AND name = ?"),
  lastOf: database.prepare("SELECT last FROM stream WHERE session = ? AND name = ?"),
  idleStreams: database.prepare("SELECT name FROM stream WHERE session = ? ORDER BY turn DESC LIMIT -1 OFFSET ?"),
  deleteStream: database.prepare("DELETE FROM stream WHERE session = ? AND name = ?"),
  deleteStreams: database.prepare("DELETE FROM stream WHERE session = ?"),
  addMessage: database.prepare("INSERT INTO message VALUES(?,?,?,?,?)"),
  oldestMessage: database.prepare("SELECT n, bytes FROM message WHERE session = ? AND name = ? ORDER BY n LIMIT 1"),
  messagesAfter: database.prepare("SELECT n, message FROM message WHERE session = ? AND name = ? AND n > ? ORDER BY n"),
  deleteMessagesTo: database.prepare("DELETE FROM message WHERE session = ? AND name = ? AND n <= ?"),
  deleteMessages: database.prepare("DELETE FROM message WHERE session = ?"),
});

class SessionFile {
  readonly #options: SqliteSessionOptions;
  readonly #onDamage: MendedSessionOptions["onDamage"] | undefined;
  /** Undefined: closed. */
  #file: OpenFile | undefined;
  /** A sync failed, so the log may have gaps. */
  #syncFault: StoreError | undefined;
  #writes = 0;

  /** With `onDamage`, a damaged file is replaced by a new one. */
  constructor(options: SqliteSessionOptions, onDamage?: MendedSessionOptions["onDamage"]) {
    this.#options = options;
    this.#onDamage = onDamage;
    try {
      this.#file = open(options);
    } catch (error) {
      this.#file = this.#replaced(error);
    }
  }

  async read<T>(work: (file: OpenFile) => T): Promise<T> {
    const file = this.#file;
    if (file === undefined) throw closed("session store");
    try {
      if (this.#syncFault !== undefined) throw this.#syncFault;
      return checked(work, file);
    } catch (fault) {
      if (this.#onDamage === undefined || !isDamage(fault)) throw fault;
      // Closed before its file is moved: the last connection to close deletes the log by its name.
      this.close();
      return checked(work, (this.#file = this.#replaced(fault)));
    }
  }

  write<T>(work: (file: OpenFile) => T): Promise<T> {
    return this.read((file) => {
      const { database } = file;
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = work(file);
        database.exec("COMMIT");
        this.#writes += 1;
        if (this.#writes >= CHECKPOINT_WRITES) this.#checkpoint(file);
        return result;
      } finally {
        if (database.isTransaction) database.exec("ROLLBACK");
      }
    });
  }

  close(): void {
    this.#file?.database.close();
    this.#file = undefined;
  }

  /** SQLite's automatic checkpoints would hide that a sync failed. The log may have gaps then, and the next checkpoint would copy them. */
  #checkpoint({ database, frames }: OpenFile): void {
    this.#writes = 0;
    try {
      if (Number(frames?.get()?.["log"] ?? CHECKPOINT_FRAMES) >= CHECKPOINT_FRAMES) database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      // Any other failure is retried with a later write; nothing is lost until then.
      if (isFailedSync(error))
        this.#syncFault = new StoreError("STORE_CORRUPT", "The disk failed to store what was written to the sessions.", { cause: error });
    }
  }

  /** A new file in the place of the damaged one, which is moved aside. Throws `fault` where it is no damage. */
  #replaced(fault: unknown): OpenFile {
    if (this.#onDamage === undefined || !isDamage(fault)) throw fault;
    const { path } = this.#options;
    const aside = `${path}.damaged`;
    for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
    rmSync(aside, { recursive: true, force: true });
    renameSync(path, aside);
    const file = open(this.#options);
    this.#syncFault = undefined;
    this.#onDamage(fault, aside);
    return file;
  }
}

/** Throws `StoreError` only. */
function checked<T>(work: (file: OpenFile) => T, file: OpenFile): T {
  try {
    return work(file);
  } catch (error) {
    throw storeFault(error);
  }
}

function sessionIn(file: OpenFile, id: string): SessionRow | undefined {
  const columns = file.session.get(id);
  if (columns === undefined) return undefined;
  const fixed = parsed(columns["row"]);
  const [logLevel, listener] = [maybeText(columns["level"]), maybeText(columns["listener"])];
  const row = isJsonObject(fixed) && {
    ...fixed,
    subscriptions: parsed(columns["uris"]),
    ...(logLevel === undefined ? undefined : { logLevel }),
    ...(listener === undefined ? undefined : { listener }),
    seenAt: int(columns["seen"]),
  };
  if (!isSessionRow(row)) throw damaged("a session is none");
  return row;
}

const sessionsIn = (all: SessionFile): Omit<SessionStore, typeof Symbol.asyncDispose> => ({
  put: (row) =>
    all.write((file) => {
      const { subscriptions, logLevel, listener, seenAt, ...fixed } = row;
      file.putSession.run(row.id, seenAt, logLevel ?? null, listener ?? null);
      file.putFixed.run(row.id, JSON.stringify(fixed));
      file.unsubscribeAll.run(row.id);
      for (const uri of subscriptions) file.subscribe.run(row.id, uri);
    }),
  get: (id) => all.read((file) => sessionIn(file, id)),
  change: (id, change) =>
    all.write((file) => {
      const row = sessionIn(file, id);
      if (row === undefined) return undefined;
      const changed = changedSession(row, change);
      if (changed === row) return row;
      const { logLevel, listener } = changed;
      if (logLevel !== row.logLevel || listener !== row.listener) file.setSession.run(logLevel ?? null, listener ?? null, id);
      if (changed.subscriptions === row.subscriptions) return changed;
      for (const uri of [change.subscribe, change.unsubscribe]) if (uri !== undefined) file.unsubscribe.run(id, uri);
      if (change.subscribe !== undefined) file.subscribe.run(id, change.subscribe);
      return changed;
    }),
  touch: (id, seenAt) => all.write((file) => void file.touchSession.run(seenAt, id, seenAt)),
  delete: (id) => all.write((file) => void file.deleteSession.run(id)),
  async expire(seenBefore) {
    const expired: string[] = [];
    for (;;) {
      const batch = await all.write((file) => file.expireSessions.all(seenBefore).map((columns) => text(columns["id"])));
      expired.push(...batch);
      if (batch.length < BATCH) return expired;
      // Lets other requests in between two batches.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  },
});

function taskIn({ id, principal, description, over, until }: Readonly<Record<string, SQLOutputValue>>): TaskRow {
  const row = { id: text(id), description: text(description), over: int(over) === 1, until: int(until) };
  return principal === null ? row : { ...row, principal: text(principal) };
}

const tasksIn = (all: SessionFile): Omit<TaskStore, typeof Symbol.asyncDispose> => ({
  put: ({ id, principal, description, over, until }) =>
    all.write((file) => void file.putTask.run(id, principal ?? null, description, over ? 1 : 0, until)),
  get: (id) =>
    all.read((file) => {
      const columns = file.task.get(id);
      return columns === undefined ? undefined : taskIn({ id, ...columns });
    }),
  list: (limit) => all.read((file) => file.tasks.all(limit).map(taskIn)),
  expire: (now) => all.write((file) => void file.expireTasks.run(now)),
});

function dropStream(file: OpenFile, session: string, name: string): void {
  file.deleteMessagesTo.run(session, name, Number.MAX_SAFE_INTEGER);
  file.deleteStream.run(session, name);
}

const streamsIn = (all: SessionFile, bounds: StreamBounds): Omit<StreamStore, typeof Symbol.asyncDispose> => ({
  append: (session, name, message) =>
    all.write((file) => {
      const written = JSON.stringify(message);
      const size = Buffer.byteLength(written);
      const columns = file.growStream.get(session, name, size);
      const n = int(columns?.["last"]);
      const before = int(columns?.["bytes"]);
      file.addMessage.run(session, name, n, size, written);
      file.deleteMessagesTo.run(session, name, n - bounds.messages);
      let bytes = before;
      while (bytes > bounds.bytes) {
        const first = file.oldestMessage.get(session, name);
        if (first === undefined) break;
        bytes -= int(first["bytes"]);
        file.deleteMessagesTo.run(session, name, int(first["n"]));
      }
      if (bytes !== before) file.shrinkStream.run(bytes, session, name);
      for (const other of file.idleStreams.all(session, bounds.streams)) dropStream(file, session, text(other["name"]));
      return eventId(name, n);
    }),
  after: (session, id) =>
    all.read((file) => {
      const place = readEventId(id);
      if (place === undefined) return undefined;
      const { stream, n } = place;
      const columns = file.lastOf.get(session, stream);
      if (columns === undefined || n > int(columns["last"])) return undefined;
      const rows = file.messagesAfter.all(session, stream, n);
      if (rows.length !== int(columns["last"]) - n) return undefined;
      return { stream, messages: rows.map((row) => ({ id: eventId(stream, int(row["n"])), message: parsed(row["message"]) })) };
    }),
  drop: (session, stream) => all.write((file) => dropStream(file, session, stream)),
  delete: (session) =>
    all.write((file) => {
      file.deleteStreams.run(session);
      file.deleteMessages.run(session);
    }),
});
