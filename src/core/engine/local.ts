// Owns: the engine of one process: it connects the parts of this folder, and is the one way in. Does not own: what each part does.
import {
  ABOVE_ZERO,
  checkOptions,
  FUNCTION,
  systemClock,
  systemEntropy,
  type ActorId,
  type ActorMailbox,
  type Asks,
  type Behaviour,
  type CallOptions,
  type Change,
  type ChainEvent,
  type Clock,
  type Ended,
  type Engine,
  type Entropy,
  type Entry,
  type DeadLetter,
  type Index,
  type IndexEvent,
  type IndexOperations,
  type IndexPage,
  type IndexProgress,
  type IndexQuery,
  type ListQuery,
  type Observer,
  type OptionTable,
  type Outgoing,
  type Past,
  type Reply,
  type ReplyWith,
  type Row,
  type Snapshot,
  type Store,
  type Stored,
  type Trait,
  type Viewer,
  Watchers,
} from "../contract/index.ts";
import {
  checkNeeded,
  checkWholeNumber,
  DURATION,
  omitUndefined,
  commitWithCallback,
  INDEXES,
  kindOf,
  KINDS,
  settledNow,
  withTimeout,
  safeCall,
  unserialisableError,
} from "../contract/internal.ts";
import { faults, innerKey, isAction, pastOf, scopedKey, stamp, stampFrom } from "../chain/internal.ts";
import { ActorState, appendToStored } from "./actor-state.ts";
import { Cell, type CellOps } from "./cell.ts";
import { Dispatcher } from "./dispatcher.ts";
import { IdempotencyCache } from "./idempotency.ts";
import { Indexes } from "./index-maintenance.ts";
import { DeferredReplies, ForwardedCalls, Job } from "./job.ts";
import { append } from "./lifecycle.ts";
import { type FaultContext, fromStore, type OnFault, type SlowTurn } from "./fault-reports.ts";
import { type Arrival, Outbox } from "./outbox.ts";
import { Eviction, Passivation, usedHeapShare } from "./passivation.ts";
import { type Health, Queries } from "./queries.ts";
import { KEY_MS, prune, type Pruned, type Pruning } from "./prune.ts";
import { CellDirectory, CellTable } from "./cells.ts";
import { isStopChildrenMessage, NO_ACTORS, Children } from "./children.ts";
import { TimerService } from "./timers.ts";
import { WaitForGraph } from "./work.ts";

/** What `LocalEngine.start` takes. */
export interface LocalOptions {
  readonly kinds: readonly Behaviour[];
  /** Indexes over the contents of actors, as `index()` makes them. */
  readonly indexes?: readonly Index[];
  /** Where actors on disk are stored; the engine does not close it. Absent: memory actors only. */
  readonly store?: Store;
  /**
   * Whether another engine will run the store's other kinds, and has its other indexes: messages to those kinds wait there, and the indexes
   * stay. Default: the messages become dead letters, and indexes that these kinds no longer have are deleted.
   */
  readonly partial?: boolean;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** How long keyed replies are remembered, in milliseconds. Default 24 h. */
  readonly keyMs?: number;
  /** The wait after a delivery's first failure, in milliseconds; four times as long after the second. Default 100 ms. */
  readonly retryMs?: number;
  /** How many actors on disk may be in memory at a time; fewer if they would fill the heap. Default 1,000,000. */
  readonly maxActors?: number;
  /** Called with faults whose details no caller gets: a crash, a listener that threw, a store that failed. Default: ignored. */
  readonly onFault?: (error: unknown, context: FaultContext) => void;
  /** Called after a turn that blocked the event loop, and so all actors, for more than 100 ms. */
  readonly onSlowTurn?: (turn: SlowTurn) => void;
  /** Called while an index is built, and when it is complete: after a start with another definition, for example. */
  readonly onIndexProgress?: (progress: IndexProgress) => void;
  /** Gets gauges: how many actors there are, and what they are doing. */
  readonly observer?: Pick<Observer, "shows">;
}

const OPTIONS: OptionTable<LocalOptions> = {
  kinds: KINDS,
  indexes: INDEXES,
  store: true,
  partial: true,
  clock: true,
  entropy: true,
  keyMs: DURATION,
  retryMs: DURATION,
  maxActors: ABOVE_ZERO,
  onFault: FUNCTION,
  onSlowTurn: FUNCTION,
  onIndexProgress: FUNCTION,
  observer: true,
};

const TRAITS: ReadonlySet<Trait> = new Set(["mailbox-bound", "cycle-check", "progress", "memory-actors", "call-order"]);

/** Runs actors in this process, and stores them on disk if a store is given. */
export class LocalEngine implements Engine {
  readonly traits = TRAITS;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #store: Store | undefined;
  readonly #table = new CellTable();
  readonly #cells: CellDirectory;
  readonly #queries: Queries;
  readonly #watchers: Watchers;
  readonly #forwarded = new ForwardedCalls(this.#table);
  readonly #deferred = new DeferredReplies(this.#forwarded);
  readonly #passivation: Passivation;
  readonly #outbox: Outbox;
  readonly #dispatcher: Dispatcher;
  readonly #timers: TimerService;
  readonly #idempotency: IdempotencyCache;
  readonly #children: Children;
  readonly #indexes: Indexes;
  readonly #ops: CellOps & { draining: boolean };
  /** While draining, work that runs may finish, with all the calls it makes. */
  #phase: "open" | "draining" | "closed" = "open";
  #whenQuiet: (() => void) | undefined;
  #faults = 0;
  #slowTurns = 0;
  readonly #hide: (() => void) | undefined;

  private constructor(options: LocalOptions) {
    const { store, clock = systemClock, entropy = systemEntropy, onFault, retryMs = 100, maxActors = 1_000_000 } = options;
    this.#store = store;
    this.#clock = clock;
    this.#entropy = entropy;
    const fault: OnFault = (error, context) => {
      if (context.repeated !== true) this.#faults += 1;
      // A listener to faults must not cause more of them.
      safeCall(
        () => onFault?.(error, context),
        () => undefined,
      );
    };
    this.#watchers = new Watchers((error, actor) => fault(error, { where: "watcher", actor }));
    const drop = (cell: Cell): void => this.#forget(cell);
    const served = options.kinds.map(({ kind }) => kind);
    this.#passivation = new Passivation(clock, drop);
    const eviction = new Eviction({ table: this.#table, maxCells: maxActors, usedShare: usedHeapShare, drop });
    this.#cells = new CellDirectory(options.kinds, {
      store,
      table: this.#table,
      passivation: this.#passivation,
      eviction,
      make: (kind, id, memory) => new Cell(this.#ops, new ActorState(kind, id, memory)),
      fault,
    });
    this.#indexes = new Indexes({
      indexes: options.indexes ?? [],
      kinds: options.kinds,
      store,
      partial: options.partial === true,
      fault,
      onProgress: options.onIndexProgress,
    });
    this.#queries = new Queries(store, this.#table, this.#cells, fault);
    this.#outbox = new Outbox({
      clock,
      store,
      retryMs,
      fault,
      hasSecrets: (message) => this.#cells.redactedArgs(message) !== message.args,
      mayStart: (message) => this.#cells.mayStart(message),
      isOthers: (message) => options.partial === true && !served.includes(kindOf(message.to)) && !isStopChildrenMessage(message),
      forwarded: this.#forwarded,
      listeners: (call) => this.#deferred.listeners(call, fault),
      accept: (job) => (isStopChildrenMessage(job.message) ? this.#children.delivered(job) : this.#dispatcher.accept(job)),
    });
    const parts = { deferred: this.#deferred, table: this.#table, cells: this.#cells, outbox: this.#outbox };
    this.#dispatcher = new Dispatcher({ ...parts, clock, entropy, fault });
    this.#children = new Children({
      store,
      table: this.#table,
      mayBeStored: (kind) => this.#cells.mayBeStored(kind),
      stop: (id, reason, ancestors) => this.#dispatcher.stop(id, reason, ancestors),
      deliver: (message, stored) => this.#outbox.add([message], stored),
      done: (messageId) => this.#outbox.done(messageId),
      fault,
    });
    this.#timers = new TimerService({
      clock,
      entropy,
      store,
      retryMs,
      kinds: served,
      fault,
      cell: (id) => this.#cells.at(id, true),
      expire: (cell, ended) => this.#dispatcher.expire(cell, ended),
    });
    this.#idempotency = new IdempotencyCache({ ...parts, clock, store, dispatcher: this.#dispatcher, fault });
    this.#ops = {
      clock,
      store,
      commit: store && commitWithCallback(store),
      touch:
        store?.touch &&
        ((id, at) => void store.touch?.(id, at).catch((error: unknown) => fault(faults.fromStore(error), { where: "store", actor: id }))),
      keyMs: options.keyMs ?? KEY_MS,
      watchers: this.#watchers,
      deferred: this.#deferred,
      indexes: options.indexes === undefined || options.indexes.length === 0 ? undefined : this.#indexes,
      waits: new WaitForGraph(),
      draining: false,
      callFrom: (work, n, outgoing, endsAt, signal) => this.#callFrom(work, n, outgoing, endsAt, signal),
      pastOf: (id) => this.#pastOf(id),
      deliver: (messages, stored) => this.#outbox.add(messages, stored),
      rereadStore: () => this.#rereadStore(),
      restart: (child, parent) => this.#dispatcher.restartChild(child, parent),
      timersChanged: (cell) => this.#timers.changed(cell),
      children: this.#children,
      started: (cell) => this.#started(cell),
      stopped: (cell) => this.#table.stopped(cell),
      idle: (cell) => this.#cellIdle(cell),
      forget: (cell) => this.#forget(cell),
      remember: (id, replies) => this.#idempotency.remember(id, replies),
      fault,
      slow: (turn) => {
        this.#slowTurns += 1;
        safeCall(
          () => options.onSlowTurn?.(turn),
          () => undefined,
        );
      },
      receiptFault: (error, { actor }) => fault(error, { where: "receipt", actor }),
    };
    this.#hide = options.observer?.shows?.(() => ({
      ...this.#table.figures(),
      outbox: this.#outbox.size,
      ...omitUndefined({ backlog: options.store?.backlog }),
      faults: this.#faults,
      slowTurns: this.#slowTurns,
    }));
  }

  /** Fires timers and delivers messages that were due while no engine ran. Throws `ENGINE_MISSING` if a kind needs a store or an engine that is missing. */
  static async start(options: LocalOptions): Promise<LocalEngine> {
    checkOptions("LocalEngine.start", options, OPTIONS);
    checkNeeded("kinds", options.kinds, KINDS);
    for (const { kind, policy } of options.kinds) {
      if (policy.persistence === "distributed") throw faults.engineMissing(kind, "engine");
      if (policy.persistence === "disk" && options.store === undefined) throw faults.engineMissing(kind, "store");
    }
    const engine = new LocalEngine(options);
    await engine.#open();
    return engine;
  }

  async #open(): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    await this.#cells.findAlsoStored(store);
    await this.#indexes.open();
    await this.#outbox.catchUp();
    this.#timers.start();
  }

  call<T>(asks: Asks<T>, options?: CallOptions): Promise<ReplyWith<T>>;
  call(outgoing: Outgoing, options?: CallOptions): Promise<Reply>;
  call(outgoing: Outgoing, options?: CallOptions): Promise<unknown> {
    if (this.#phase !== "open") return Promise.reject(faults.draining());
    const message = stamp(outgoing, options, this.#clock.now(), this.#entropy, this.#cells);
    if (options?.key !== undefined && !this.#cells.isRead(message)) return this.#idempotency.call(message, options.key, options);
    return this.#dispatcher.call(message, options).promise();
  }

  callNow(outgoing: Outgoing, options?: CallOptions): Reply | Promise<Reply> {
    if (this.#phase !== "open") throw faults.draining();
    const message = stamp(outgoing, options, this.#clock.now(), this.#entropy, this.#cells);
    // Only the store knows whether the key was used.
    if (options?.key !== undefined && !this.#cells.isRead(message)) return this.#idempotency.call(message, options.key, options);
    return this.#dispatcher.call(message, options).now();
  }

  async send(outgoing: Outgoing): Promise<void> {
    if (this.#phase !== "open") throw faults.draining();
    if (!isAction(outgoing.action)) throw faults.noAction(outgoing.to);
    const message = stamp(outgoing, undefined, this.#clock.now(), this.#entropy, this.#cells);
    const cell = this.#cells.reachedBy(message);
    if (cell === undefined) throw faults.noActor(message.to);
    const arrival = this.#outbox.arrive(message);
    try {
      await this.#accept(cell, arrival);
    } finally {
      this.#outbox.arrived(arrival);
    }
  }

  /** Adds a message from outside to the outbox, once the store has it. */
  async #accept(cell: Cell, arrival: Arrival): Promise<void> {
    const { message } = arrival;
    await cell.loaded();
    const { status } = cell.actor;
    if (status === "not-started" && cell.quiet && !this.#cells.mayStart(message) && !this.#outbox.mayFollow(arrival))
      throw faults.noActor(message.to);
    const store = this.#store;
    if (cell.actor.memory || store === undefined) {
      // Drained while the actor was loading: the message is not stored, and would not be delivered any more.
      if (this.#phase !== "open") throw faults.draining();
      if (cell.waiting + this.#outbox.waiting(message).sends >= cell.actor.extra.policy.mailbox) throw faults.mailboxFull(cell.id);
      return this.#outbox.add([message], false);
    }
    try {
      await store.enqueue(message);
    } catch (error) {
      if (!faults.isCertainlyNotStored(error)) this.#rereadStore();
      const fault = faults.fromStore(error);
      throw (fault.code === "STORE_IO" ? unserialisableError(message.to, message) : undefined) ?? fault;
    }
    this.#outbox.add([message], true);
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    return this.#queries.readNow(id);
  }

  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    return this.#queries.readNow(id);
  }

  queued(id: ActorId): number {
    return this.#table.get(id)?.waiting ?? 0;
  }

  mailbox(id: ActorId, most: number): ActorMailbox {
    checkWholeNumber("most", most);
    return this.#table.get(id)?.mailbox(most) ?? { phase: "ready", queued: 0, waiting: [] };
  }

  list(query: ListQuery): Promise<readonly Change[]> {
    return this.#queries.list(query);
  }

  count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return this.#queries.count(query);
  }

  async find(uid: string): Promise<ActorId | undefined> {
    return this.#table.find(uid) ?? (await fromStore(this.#store?.find(uid)));
  }

  /** What an actor has beyond its state: timers, pending replies, parent. Undefined: there is no such actor. */
  row(id: ActorId): Promise<Row | undefined> {
    return this.#queries.row(id);
  }

  /** Its children that have not stopped, in the order of their ids. */
  children(id: ActorId): Promise<readonly ActorId[]> {
    return this.#queries.children(id);
  }

  async event(id: string): Promise<ChainEvent | undefined> {
    return fromStore(this.#store?.event(id));
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    return (await fromStore(this.#store?.caused(id))) ?? [];
  }

  async keyed(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined> {
    const claimants = (await fromStore(this.#store?.claimants(scopedKey(viewer, undefined, key)))) ?? [];
    return claimants.find((id) => kindOf(id) === kind);
  }

  /**
   * One page of an index, of durable states. Waits while the index is built. Throws `UNKNOWN_INDEX` for one that this engine was not
   * started with, and `BAD_QUERY`.
   */
  query<R extends object>(index: Index<R>, query: IndexQuery<R> = {}): Promise<IndexPage<R>> {
    return this.#indexes.query(index, query);
  }

  /** Calls the listener with each actor whose row changes, after the commit. Returns its undo. Throws `UNKNOWN_INDEX`. */
  watchIndex(index: Index, listener: (event: IndexEvent) => void): () => void {
    return this.#indexes.watch(index, listener);
  }

  /** Lists, rebuilds and verifies indexes. */
  get indexes(): IndexOperations {
    return this.#indexes;
  }

  history(id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent, void, undefined> {
    return this.#queries.history(id, afterSeq);
  }

  /**
   * Appends an event that has no message, such as a checkpoint, between two turns, made of what the store has then. Waits for running
   * work. Throws `NO_ACTOR` if the actor is not stored.
   */
  async append(id: ActorId, make: (stored: Stored) => Entry): Promise<Entry> {
    // Actors whose kind does not run have no turns.
    if (!this.#cells.serves(kindOf(id))) return await fromStore(appendToStored(this.#store, id, make));
    return append(this.#cells.existing(id), make);
  }

  async stop(id: ActorId, reason: string, principal?: string): Promise<void> {
    await this.#dispatcher.stop(id, reason, NO_ACTORS, principal);
  }

  async restart(id: ActorId): Promise<void> {
    const cell = this.#table.get(id);
    if (cell !== undefined) this.#timers.forgive(cell);
    await this.#dispatcher.restart(id);
  }

  #rereadStore(): void {
    this.#outbox.reread();
    this.#timers.start();
  }

  /** Removes one page of the actors that stopped before a time, with their histories, from the store and from this process. */
  async prune(pruning: Pruning): Promise<Pruned> {
    const store = this.#store;
    if (store === undefined) return { ended: [], damaged: [] };
    const { keyMs } = this.#ops;
    const remove = async (ended: Ended): Promise<boolean> => {
      const removed = await store.remove(ended);
      // Its cell has a head that no longer exists, so its commits would be refused (C6) until it is loaded again.
      if (removed && this.#table.get(ended.id) !== undefined) await this.restart(ended.id);
      return removed;
    };
    return fromStore(prune({ store, now: settledNow(this.#clock), keyMs, remove }, pruning));
  }

  knows(kind: string): boolean {
    return this.#cells.serves(kind);
  }

  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void {
    return this.#watchers.add(topic, listener);
  }

  /** Crashes within the window, and why the actor has failed; undefined if it is not in this process. */
  health(id: ActorId): Health | undefined {
    const actor = this.#table.get(id)?.actor;
    return actor && { crashes: actor.crashes, ...omitUndefined({ failure: actor.failure?.message }) };
  }

  /** Sends that failed three times, oldest first. `except`: see `Store.letters`. */
  async letters(limit = 1_000, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    return this.#outbox.letters(limit, except);
  }

  /** Delivers a dead letter again, or drops it. False: there is none with that id. */
  async letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    return this.#outbox.letter(messageId, fate);
  }

  /** Refuses new calls. Work has `graceMs` to finish, then it is aborted. Settles when nothing runs and all commits are durable. */
  async drain(graceMs: number): Promise<void> {
    if (this.#phase === "open") this.#phase = "draining";
    this.#ops.draining = true;
    this.#timers.close();
    this.#hide?.();
    this.#outbox.close();
    const indexesClosed = this.#indexes.close();
    if (graceMs > 0 && !this.#allQuiet()) {
      const { promise: quiet, resolve } = Promise.withResolvers<void>();
      this.#whenQuiet = resolve;
      await withTimeout(this.#clock, graceMs, quiet, () => undefined);
    }
    this.#phase = "closed";
    const cells = [...this.#table.all()];
    const closed = faults.draining();
    this.#dispatcher.close(closed);
    for (const cell of cells) {
      cell.refuseAll(closed);
      cell.abortWork(closed);
    }
    await Promise.all(cells.map((cell) => cell.settled()));
    this.#deferred.close(faults.draining(true));
    this.#passivation.close();
    // Last, since actors that stopped meanwhile used it too.
    await this.#outbox.settled();
    await indexesClosed;
  }

  /** Accepts no more messages; turns and work that run get `graceMs` (default 0). The store stays open. */
  close({ graceMs = 0 }: { readonly graceMs?: number } = {}): Promise<void> {
    return this.drain(graceMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #allQuiet(): boolean {
    for (const cell of this.#table.all()) if (!cell.quiet) return false;
    return true;
  }

  // ── what cells report ────────────────────────────────────────────────────────

  #started(cell: Cell): void {
    this.#table.started(cell);
    if (cell.actor.extra.policy.expireMs !== undefined) this.#timers.changed(cell);
  }

  #cellIdle(cell: Cell): void {
    if (cell.actor.status === "stopped") {
      if (cell.actor.memory) this.#idempotency.stopped(cell.id);
      this.#forget(cell);
    } else if (cell.actor.status === "not-started") this.#forget(cell);
    // Calls under made-up keys to actors that fail to start must not fill the memory.
    else if (cell.actor.memory && cell.actor.seq === 0) this.#passivation.addNotStarted(cell);
    if (this.#whenQuiet !== undefined && this.#allQuiet()) this.#whenQuiet();
  }

  #forget(cell: Cell): void {
    this.#table.forget(cell);
    this.#passivation.remove(cell);
  }

  #pastOf(id: ActorId): Past | undefined {
    const actor = this.#table.get(id)?.actor;
    if (actor === undefined || actor.memory || this.#store === undefined) return undefined;
    const { kind, life, seq, extra } = actor;
    return pastOf({ kind, life, seq, extra, history: (afterSeq) => this.#queries.history(id, afterSeq) });
  }

  #callFrom(work: Job, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply> {
    if (this.#phase === "closed") return Promise.reject(faults.draining());
    const message = stampFrom(work.message, n, outgoing, endsAt, this.#clock.now(), this.#entropy);
    // Work may run again if it came from the outbox or from a keyed call; it then has to get the same replies again.
    if ((work.consumed !== undefined || work.key !== undefined) && !this.#cells.isRead(message))
      return this.#idempotency.call(message, innerKey(work.message, work.key, n, message.action, this.#cells.redactedArgs(message)), {
        signal,
      });
    const job = new Job(message);
    this.#dispatcher.submit(job, signal);
    return job.promise();
  }
}
