/**
 * The Store contract on one SQLite file. C2: `commit` settles when its group is on disk.
 * C5: outbox and consumed messages share the turn's transaction. C6: append is
 * compare-and-swap. C7: texts are kept as they were hashed, and hashed again on load.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError, systemClock, type Clock, type Store } from "../contract/index.ts";
import { commitFrom, settledNow } from "../contract/internal.ts";
import { Tips } from "./tips.ts";
import { Directory } from "./directory.ts";
import { Eraser } from "./erase.ts";
import { GroupCommit } from "./group-commit.ts";
import { History } from "./history.ts";
import { lockedStore, readableStore } from "./open-store.ts";
import { Outbox } from "./outbox.ts";
import { Remover } from "./remover.ts";
import { Replies } from "./replies.ts";
import { SeekIndex } from "./seek-index.ts";
import { isDamage, storeFault } from "./sqlite-error.ts";
import { TurnWriter, WaitingTurn } from "./turn-writer.ts";
import type { LogLoss } from "./log-loss.ts";
import type { Disk, WalSync } from "./wal-sync.ts";

export interface SqliteOptions {
  /** Created where absent; the store is `troupe.db` in it. */
  readonly directory?: string;
  /** The store's file itself, instead of a directory. */
  readonly path?: string;
  /** Takes no lock and writes nothing: for commands beside a running server. */
  readonly readOnly?: boolean;
  readonly clock?: Clock;
  /** Told, once, of damage that was met where nobody asked for anything, so that no caller is told of it. */
  readonly onDamage?: (fault: StoreError) => void;
  /**
   * Called at the start where a server was killed and its log is damaged, cut or missing: turns that were acknowledged last are
   * missing, and nothing else would say so. Called at each start until the file `alarm` is removed.
   */
  readonly onLostLog?: (loss: LogLoss) => void;
  /** Called with why the log cannot be copied into the store's file, and so grows; without, once it can be copied again. */
  readonly onCheckpoint?: (fault: StoreError | undefined) => void;
  /** Faults for tests: runs inside each transaction, before its COMMIT. */
  readonly beforeCommit?: (database: DatabaseSync) => void;
  /** Faults for tests: what makes its WAL durable. */
  readonly disk?: Disk;
}

/**
 * Opens a store, takes its lock and migrates it. Throws `StoreError`: `STORE_LOCKED`
 * (another server has it), `STORE_NEWER`, `STORE_CORRUPT`, `STORE_READ_ONLY`, `STORE_FULL`, `STORE_IO`.
 */
export function sqliteStore(options: SqliteOptions): Store {
  const { clock = systemClock, readOnly } = options;
  if (readOnly) return readableStore(options, (database) => readOnlyStore(database, clock));
  return lockedStore(options, ({ database, wal, close }) => writable(database, clock, close, wal, options));
}

type Read = <T>(run: () => T | Promise<T>) => Promise<T>;
type Writes = "commit" | "enqueue" | "settle" | "letter" | "erase" | "remove";

interface Tables {
  readonly tips: Pick<Tips, "get">;
  readonly history: History;
  readonly outbox: Outbox;
  readonly directory: Directory;
  readonly replies: Replies;
  readonly seek: SeekIndex;
}

/** Synchronous inside, so that every answer is of one moment; a fault of the file becomes a `StoreError`. */
function reads(
  { tips, history, outbox, directory, replies, seek }: Tables,
  read: Read,
): Omit<Store, Writes | "due" | "fault" | "backlog" | typeof Symbol.asyncDispose> {
  return {
    load: (id) =>
      read(() => {
        const tip = tips.get(id);
        return tip && { row: tip.row, seq: tip.seq, head: tip.head, tail: history.tail(id, tip) };
      }),
    events: (id, afterSeq, limit) =>
      read(() => {
        const tip = tips.get(id);
        return tip ? history.events(tip, afterSeq, limit) : [];
      }),
    undelivered: (limit, damaged, except) => read(() => outbox.undelivered(limit, damaged, except)),
    letters: (limit, damaged) => read(() => outbox.letters(limit, damaged)),
    children: (id) => read(() => directory.children(id)),
    list: (query, damaged) => read(() => directory.list(query, damaged)),
    count: (query) => read(() => directory.count(query)),
    find: (uid) => read(() => directory.find(uid)),
    ended: (query) => read(() => directory.ended(query)),
    remembered: (id, key) =>
      read(() => {
        const tip = tips.get(id);
        return tip && replies.get(tip.pk, key);
      }),
    claimants: (key) => read(() => replies.claimants(key)),
    event: (id) => read(() => seek.event(id)),
    caused: (id) => read(() => seek.caused(id)),
  };
}

const closed = (): StoreError => new StoreError("STORE_CLOSED", "The store is closed. Open it again.");

function writable(
  database: DatabaseSync,
  clock: Clock,
  close: () => Promise<void>,
  wal: WalSync,
  { beforeCommit, onDamage }: Pick<SqliteOptions, "beforeCommit" | "onDamage">,
): Store {
  const tips = new Tips(database);
  const history = new History(database);
  const outbox = new Outbox(database);
  const directory = new Directory(database);
  let told = false;
  const tellOnce = (fault: unknown): void => {
    if (told || !isDamage(fault)) return;
    told = true;
    onDamage?.(fault);
  };
  const replies = new Replies(
    database,
    () => settledNow(clock),
    (forget) => void commits.add(forget).catch(tellOnce),
  );
  const turns = new TurnWriter(database, tips, history, outbox, replies);
  const commits = new GroupCommit(database, () => turns.rolledBack(), {
    beforeCommit: () => {
      turns.writeRows();
      beforeCommit?.(database);
    },
    wal,
  });
  const seek = new SeekIndex(database, commits);
  const eraser = new Eraser(database, commits, history);
  const remover = new Remover(database, { commits, tips, turns, seek, damaged: tellOnce });
  if (remover.unfinished) void remover.sweep().catch(tellOnce);
  let open = true;
  const read = reading(
    () => open,
    () => wal.landing(),
  );
  const write = <T>(run: () => T): Promise<T> => (open ? commits.add(run) : Promise.reject(closed()));
  return {
    ...reads({ tips, history, outbox, directory, replies, seek }, read),
    get backlog() {
      return commits.backlog;
    },
    get fault() {
      return commits.fault;
    },
    commit: commitFrom((id, entry, ends) => {
      if (open) commits.push(new WaitingTurn(turns, id, entry, ends));
      else queueMicrotask(() => ends.onFailed(closed()));
    }),
    enqueue: (message) => write(() => outbox.add(message)),
    settle: (messageId, how, { why = "", answer } = {}) =>
      write(() => {
        if (!outbox.has(messageId)) return;
        if (how === "done") outbox.remove(messageId);
        else if (how === "failed") outbox.fail(messageId);
        else outbox.die(messageId, why, clock.now());
        if (answer !== undefined) outbox.add(answer);
      }),
    letter: (messageId, fate) => write(() => (fate === "replay" ? outbox.replay(messageId) : outbox.drop(messageId))),
    due: (before, limit, damaged, kinds, after) =>
      read(async () => {
        for (;;) {
          const { due, stale } = directory.due(before, limit, damaged, kinds, after);
          if (stale.length === 0) return due;
          await commits.add(() => {
            for (const one of stale) {
              const tip = tips.known(one.id);
              if (directory.correct(one) && tip) tip.due = one.at;
            }
          });
        }
      }),
    erase: (id, beforeSeq) =>
      read(() => {
        const tip = tips.get(id);
        return tip ? eraser.erase(tip, beforeSeq) : 0;
      }),
    remove: (ended) => read(() => remover.remove(ended)),
    async [Symbol.asyncDispose]() {
      if (!open) return;
      open = false;
      await remover.closed();
      await commits.drained();
      await close();
    },
  };
}

const refuse = (): Promise<never> =>
  Promise.reject(
    new StoreError(
      "STORE_READ_ONLY",
      "This store was opened for reading only. Ask the running server, or stop it and open the store for writing.",
    ),
  );

function readOnlyStore(database: DatabaseSync, clock: Clock): Store {
  const tips = new Tips(database);
  const directory = new Directory(database);
  const tables: Tables = {
    // Another process writes: nothing may be kept from one question to the next.
    tips: { get: (id) => tips.read(id) },
    history: new History(database),
    outbox: new Outbox(database),
    directory,
    replies: new Replies(database, () => clock.now()),
    seek: new SeekIndex(database),
  };
  let open = true;
  const read = reading(() => open);
  return {
    ...reads(tables, read),
    due: (before, limit, damaged, kinds, after) => read(() => directory.due(before, limit, damaged, kinds, after).due),
    commit: refuse,
    enqueue: refuse,
    settle: refuse,
    letter: refuse,
    erase: refuse,
    remove: refuse,
    async [Symbol.asyncDispose]() {
      if (!open) return;
      open = false;
      database.close();
    },
  };
}

/** Throws `StoreError` only, also where SQLite or a parser throws. Law 2: what was read is told once it is durable. */
function reading(isOpen: () => boolean, landing?: () => Promise<void> | undefined): Read {
  return async (run) => {
    if (!isOpen()) throw closed();
    try {
      const answer = await run();
      await landing?.();
      return answer;
    } catch (error) {
      throw storeFault(error);
    }
  };
}
