// Owns: the `Store` contract on one SQLite file, assembled from the parts that each own a table or a step. Does not own: any SQL.
//
// C2: `commit` settles when its batch is on disk. C5: the outbox and consumed messages share the turn's transaction. C6: append is
// compare-and-swap. C7: texts are stored as they were hashed, and hashed again on load.

import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  type ActorId,
  checkOptions,
  type Clock,
  type Closable,
  FUNCTION,
  type IndexStore,
  type OptionTable,
  type Store,
  StoreError,
  systemClock,
} from "../contract/index.ts";
import { commitFrom, settledNow, TEXT } from "../contract/internal.ts";
import { type Head, HeadCache } from "./actor-table.ts";
import type { StorePlace } from "./database.ts";
import { Directory } from "./find-actors.ts";
import { EventIndex, EventTable, unlinkedEvents } from "./event-table.ts";
import { isDamage, storeFault } from "./store-errors.ts";
import { text } from "./columns.ts";
import { GroupCommit } from "./group-commit.ts";
import { type IndexHost, IndexTables, type OwnWrite, sqliteIndexes } from "./index-tables.ts";
import { type LockedFile, openLockedStore, openReadableStore, openToRead } from "./open-store.ts";
import { OutboxTable } from "./outbox-table.ts";
import { Purge } from "./purge.ts";
import { Replies } from "./remembered-replies.ts";
import { closed } from "./rules.ts";
import { TurnWrite, TurnWriter } from "./commit-turn.ts";
import type { LogLoss } from "./log-loss.ts";
import type { Disk } from "./wal-sync.ts";

/** What `sqliteStore` takes. */
export interface SqliteOptions {
  /** Created where absent; the store is `troupe.db` in it. */
  readonly directory?: string;
  /** The store's file itself, instead of a directory. */
  readonly path?: string;
  /** Takes no lock and writes nothing: for commands that run next to a server. */
  readonly readOnly?: boolean;
  /** Decides when remembered replies expire. */
  readonly clock?: Clock;
  /** Called once, with damage found while no caller waited, so that no caller learns of it. */
  readonly onDamage?: (fault: StoreError) => void;
  /**
   * Called at the start when a server was killed and its log is damaged, cut or missing, so that the turns acknowledged last are lost;
   * again at each start until the file `alarm` is removed.
   */
  readonly onLostLog?: (loss: LogLoss) => void;
  /** Called with the reason when the log cannot be copied into the store's file, and so grows; and without one when it can be copied again. */
  readonly onCheckpoint?: (fault: StoreError | undefined) => void;
  /** Faults for tests: runs in each transaction, before its COMMIT. */
  readonly beforeCommit?: (database: DatabaseSync) => void;
  /** Faults for tests: the disk that makes the log durable. */
  readonly disk?: Disk;
}

const OPTIONS: OptionTable<SqliteOptions> = {
  directory: TEXT,
  path: TEXT,
  readOnly: true,
  clock: true,
  onDamage: FUNCTION,
  onLostLog: FUNCTION,
  onCheckpoint: FUNCTION,
  beforeCommit: FUNCTION,
  disk: true,
};

/**
 * Opens a store, takes its lock and migrates it. Throws `StoreError`: `STORE_LOCKED` (another server has it), `STORE_NEWER`,
 * `STORE_CORRUPT`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_IO`.
 */
export function sqliteStore(options: SqliteOptions): Store & Closable {
  checkOptions("sqliteStore", options, OPTIONS);
  const { clock = systemClock, readOnly } = options;
  if (readOnly) return openReadableStore(options, (database) => readOnlyStore(database, clock));
  return openLockedStore(options, (file) => writableStore(file, clock, options));
}

type Read = <T>(run: () => T | Promise<T>) => Promise<T>;
type Writes = "commit" | "enqueue" | "settle" | "letter" | "erase" | "remove";

interface Tables {
  readonly heads: Pick<HeadCache, "get">;
  readonly log: EventTable;
  readonly outbox: OutboxTable;
  readonly directory: Directory;
  readonly replies: Replies;
  readonly index: EventIndex;
}

/** Each runs synchronously, so that its answer is of one moment. */
function reads(
  { heads, log, outbox, directory, replies, index }: Tables,
  read: Read,
): Omit<Store, Writes | "due" | "fault" | "backlog" | "indexes" | typeof Symbol.asyncDispose> {
  return {
    load: (id) =>
      read(() => {
        const head = heads.get(id);
        return head && { row: head.row, seq: head.seq, head: head.head, tail: log.tail(id, head) };
      }),
    events: (id, afterSeq, limit) =>
      read(() => {
        const head = heads.get(id);
        return head ? log.events(head, afterSeq, limit) : [];
      }),
    undelivered: (limit, damaged, except) => read(() => outbox.undelivered(limit, damaged, except)),
    letters: (limit, damaged, except) => read(() => outbox.letters(limit, damaged, except)),
    children: (id) => read(() => directory.children(id)),
    list: (query, damaged) => read(() => directory.list(query, damaged)),
    count: (query) => read(() => directory.count(query)),
    find: (uid) => read(() => directory.find(uid)),
    ended: (query) => read(() => directory.ended(query)),
    remembered: (id, key) =>
      read(() => {
        const head = heads.get(id);
        return head && replies.get(head.pk, key);
      }),
    claimants: (key) => read(() => replies.claimants(key)),
    event: (id) => read(() => index.event(id)),
    caused: (id) => read(() => index.caused(id)),
  };
}

function writableStore(
  { database, wal, close }: LockedFile,
  clock: Clock,
  { beforeCommit, onDamage }: Pick<SqliteOptions, "beforeCommit" | "onDamage">,
): Store & Closable {
  const heads = new HeadCache(database);
  const log = new EventTable(database);
  const outbox = new OutboxTable(database);
  const directory = new Directory(database);
  let open = true;
  let isReported = false;
  const reportOnce = (fault: unknown): void => {
    if (isReported || !isDamage(fault)) return;
    isReported = true;
    onDamage?.(fault);
  };
  const inOwnWrite: OwnWrite = (write) =>
    (open ? commits.add(write) : Promise.reject(closed("store"))).then(
      () => undefined,
      (fault: unknown) => {
        reportOnce(fault);
        return storeFault(fault);
      },
    );
  const replies = new Replies(
    database,
    () => settledNow(clock),
    (write) => void inOwnWrite(write),
  );
  const tables = new IndexTables(database, inOwnWrite);
  const turns = new TurnWriter(database, heads, log, outbox, replies, tables);
  const commits = new GroupCommit(database, () => turns.rolledBack(), {
    beforeCommit: () => {
      turns.writeRows();
      beforeCommit?.(database);
    },
    wal,
  });
  const index = new EventIndex(database, commits);
  const purge = new Purge(database, { commits, heads, turns, log, index, indexes: tables, onDamage: reportOnce });
  if (purge.unfinished) void purge.sweep().catch(reportOnce);
  const read = reading(
    () => open,
    () => wal.pending(),
  );
  const write = <T>(run: () => T): Promise<T> => (open ? commits.add(run) : Promise.reject(closed("store")));
  const end = async (): Promise<void> => {
    if (!open) return;
    open = false;
    await purge.closed();
    await commits.drained();
    await close();
  };
  return {
    ...reads({ heads, log, outbox, directory, replies, index }, read),
    indexes: sqliteIndexes({ tables, write, read, ...indexed(heads, directory, log, reportOnce) }),
    get backlog() {
      return commits.backlog;
    },
    get fault() {
      return commits.fault;
    },
    commit: commitFrom((id, entry, callbacks) => {
      if (open) commits.push(new TurnWrite(turns, id, entry, callbacks));
      else queueMicrotask(() => callbacks.onFailed(closed("store")));
    }),
    touch: (id, at) => write(() => turns.touch(id, at)),
    enqueue: (message) => write(() => outbox.add(message)),
    settle: (messageId, how, more = {}) => write(() => outbox.settle(messageId, how, more, clock.now())),
    letter: (messageId, fate) => write(() => (fate === "replay" ? outbox.replay(messageId) : outbox.drop(messageId))),
    due: (before, limit, damaged, kinds, after) =>
      read(async () => {
        for (;;) {
          const { due, stale } = directory.due(before, limit, damaged, kinds, after);
          if (stale.length === 0) return due;
          await commits.add(() => {
            for (const one of stale) {
              const head = heads.cached(one.id);
              if (directory.correct(one) && head) head.due = one.at;
            }
          });
        }
      }),
    erase: (id, beforeSeq) =>
      read(() => {
        const head = heads.get(id);
        return head ? purge.erase(head, beforeSeq) : 0;
      }),
    remove: (ended) => read(() => purge.remove(ended)),
    close: end,
    [Symbol.asyncDispose]: end,
  };
}

/** How indexes read actors. Those that cannot be read are in no index. */
function indexed(
  heads: { get(id: ActorId): Head | undefined },
  directory: Directory,
  log: EventTable,
  onDamage: (fault: unknown) => void = () => undefined,
): Pick<IndexHost, "list" | "load"> {
  return {
    list: (kind, limit, after) =>
      directory.list({ kind, limit, ...(after === undefined ? {} : { after }) }, (fault) => onDamage(fault)).map(({ id }) => id),
    load(id) {
      try {
        const head = heads.get(id);
        if (head === undefined) return undefined;
        const { pk, row, seq, head: last } = head;
        return { actor: { pk, id, owner: row.owner }, stored: { row, seq, head: last, tail: log.tail(id, head) } };
      } catch (error) {
        if (!isDamage(storeFault(error))) throw error;
        onDamage(error);
        return undefined;
      }
    },
  };
}

/** Another process may change them at any time, so each read begins with what the file has, and sees one state of it throughout. */
function readOnlyIndexes(database: DatabaseSync, read: Read, host: Pick<IndexHost, "list" | "load">): IndexStore {
  const tables = new IndexTables(database);
  const fresh = <T>(run: () => T): Promise<T> =>
    read(() => {
      tables.forget();
      database.exec("BEGIN");
      try {
        return run();
      } finally {
        database.exec("COMMIT");
      }
    });
  return sqliteIndexes({ tables, write: refuse, read: fresh, ...host });
}

const refuse = (): Promise<never> =>
  Promise.reject(
    new StoreError(
      "STORE_READ_ONLY",
      "This store was opened for reading only. Ask the running server, or stop it and open the store for writing.",
    ),
  );

function readOnlyStore(database: DatabaseSync, clock: Clock): Store & Closable {
  const heads = new HeadCache(database);
  const directory = new Directory(database);
  const tables: Tables = {
    // Another process writes, so nothing may be cached between two reads.
    heads: { get: (id) => heads.read(id) },
    log: new EventTable(database),
    outbox: new OutboxTable(database),
    directory,
    replies: new Replies(database, () => clock.now()),
    index: new EventIndex(database),
  };
  let open = true;
  const read = reading(() => open);
  const end = async (): Promise<void> => {
    if (!open) return;
    open = false;
    database.close();
  };
  return {
    ...reads(tables, read),
    indexes: readOnlyIndexes(database, read, indexed(tables.heads, directory, tables.log)),
    due: (before, limit, damaged, kinds, after) => read(() => directory.due(before, limit, damaged, kinds, after).due),
    commit: refuse,
    enqueue: refuse,
    settle: refuse,
    letter: refuse,
    erase: refuse,
    remove: refuse,
    close: end,
    [Symbol.asyncDispose]: end,
  };
}

/** Throws `StoreError` only, also where SQLite or a parser throws. Law 2: answers when what was read is durable, so after `pending`. */
function reading(isOpen: () => boolean, pending?: () => Promise<void> | undefined): Read {
  return async (run) => {
    if (!isOpen()) throw closed("store");
    try {
      const answer = await run();
      await pending?.();
      return answer;
    } catch (error) {
      throw storeFault(error);
    }
  };
}

const MAX_FLAWS = 100;

/**
 * What SQLite finds wrong with a store's file, its indexes included; otherwise events that no chain leads to, and messages that were changed
 * while they waited. At most 100 lines of each sort, none where the file is whole. Reads the whole file, next to a running server too.
 * Chains prove themselves; this finds what hides an actor or its events, such as a flipped bit in an index, and what would never be
 * delivered. Throws `StoreError` where the file cannot be opened.
 */
export function checkFile(place: StorePlace): readonly string[] {
  const path = place.path ?? join(place.directory ?? ".", "troupe.db");
  try {
    const database = openToRead(path);
    try {
      const found = database.prepare("PRAGMA integrity_check").all();
      const lines = found.map((row) => text(row["integrity_check"])).filter((line) => line !== "ok");
      if (lines.length > 0) return lines;
      return [...unlinkedEvents(database, MAX_FLAWS), ...new OutboxTable(database).flaws(MAX_FLAWS)];
    } finally {
      database.close();
    }
  } catch (error) {
    const fault = storeFault(error);
    if (fault.code === "STORE_CORRUPT") return [fault.message];
    throw fault;
  }
}
