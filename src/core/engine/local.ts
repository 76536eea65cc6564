import {
  ABOVE_ZERO,
  checkOptions,
  FUNCTION,
  systemClock,
  systemEntropy,
  type ActorId,
  type Asks,
  type Behaviour,
  type CallOptions,
  type CancelSignal,
  type Change,
  type ChainEvent,
  type Clock,
  type Damaged,
  type Ended,
  type Engine,
  type Entropy,
  type Entry,
  type Letter,
  type ListQuery,
  type Message,
  type Observer,
  type OptionTable,
  type Outgoing,
  type Reply,
  type ReplyWith,
  type Snapshot,
  type Store,
  type Stored,
  type Trait,
  type Viewer,
  Watchers,
} from "../contract/index.ts";
import { checkNeeded, omitUndefined, commitWithCallback, KINDS, settledNow, safeCall, unserialisableError } from "../contract/internal.ts";
import { Alarm } from "./alarm.ts";
import { asked } from "./asked.ts";
import { faults, innerKey, OK_NULL, ownId, stamp, stampFrom } from "../chain/internal.ts";
import { Cell } from "./cell.ts";
import { Cells } from "./cells.ts";
import { damageTo } from "./damage.ts";
import { Eviction } from "./eviction.ts";
import { Family, isFarewell, NOBODY } from "./family.ts";
import { Guard, type GuardHost } from "./guard.ts";
import { usedHeapShare } from "./heap-share.ts";
import type { FaultContext, Host, SlowTurn } from "./host.ts";
import { Idle } from "./idle.ts";
import { Job } from "./job.ts";
import { Keyed } from "./keyed.ts";
import { Laters } from "./laters.ts";
import { Outbox } from "./outbox.ts";
import { KEY_MS, prune, type Pruned, type Pruning } from "./prune.ts";
import { type Health, Queries } from "./queries.ts";
import { Registry } from "./registry.ts";
import { Waits } from "./waits.ts";

export interface LocalOptions {
  readonly kinds: readonly Behaviour[];
  /** Where actors on disk sleep; not closed by the engine. Absent: memory actors only. */
  readonly store?: Store;
  readonly clock?: Clock;
  readonly entropy?: Entropy;
  /** Keyed replies are given again for this long. Default 24 h. */
  readonly keyMs?: number;
  /** The wait after a delivery's first failure, four times as long after the second. Default 100 ms. */
  readonly retryMs?: number;
  /** In memory at a time, of those on disk. Fewer are kept where they would fill the heap. Default 1,000,000. */
  readonly maxActors?: number;
  /** Told what no caller can be told in full: what a crash was, a listener that threw, a store that failed. Default: nothing. */
  readonly onFault?: (error: unknown, context: FaultContext) => void;
  /** Called after a turn that blocked the event loop, and so everybody, for more than 100 ms. */
  readonly onSlowTurn?: (turn: SlowTurn) => void;
  /** Is shown how many actors there are, and what they are doing. */
  readonly observer?: Pick<Observer, "shows">;
}

const OPTIONS: OptionTable<LocalOptions> = {
  kinds: KINDS,
  store: true,
  clock: true,
  entropy: true,
  keyMs: true,
  retryMs: true,
  maxActors: ABOVE_ZERO,
  onFault: FUNCTION,
  onSlowTurn: FUNCTION,
  observer: true,
};

const TRAITS: ReadonlySet<Trait> = new Set(["mailbox-bound", "cycle-check", "progress", "memory-actors", "call-order"]);

/** Actors in this process, on disk where a store is given. */
export class LocalEngine implements Engine {
  readonly traits = TRAITS;
  readonly #clock: Clock;
  readonly #entropy: Entropy;
  readonly #store: Store | undefined;
  readonly #registry = new Registry();
  readonly #cells: Cells;
  readonly #queries: Queries;
  readonly #watchers: Watchers;
  readonly #laters = new Laters();
  readonly #idle: Idle;
  readonly #outbox: Outbox;
  readonly #alarm: Alarm;
  readonly #keyed: Keyed;
  readonly #family: Family;
  readonly #host: Host & { draining: boolean };
  readonly #guards: GuardHost;
  readonly #damaged: Damaged;
  readonly #fault: (error: unknown, context: FaultContext) => void;
  /** Draining lets what runs end, with all it calls. */
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
    this.#fault = (error, context) => {
      this.#faults += 1;
      // Whoever listens to faults must not make more of them.
      safeCall(
        () => onFault?.(error, context),
        () => undefined,
      );
    };
    this.#watchers = new Watchers((error, actor) => this.#fault(error, { where: "watcher", actor }));
    this.#idle = new Idle(clock, (cell) => this.#forget(cell));
    const eviction = new Eviction({
      registry: this.#registry,
      most: maxActors,
      usedShare: usedHeapShare,
      drop: (cell) => this.#forget(cell),
    });
    this.#cells = new Cells(options.kinds, {
      store,
      registry: this.#registry,
      idle: this.#idle,
      eviction,
      make: (kind, id, memory) => new Cell(this.#host, kind, id, memory),
      fault: this.#fault,
    });
    this.#queries = new Queries(store, this.#registry, this.#cells);
    const fault = this.#fault;
    this.#damaged = damageTo(fault, "outbox");
    this.#outbox = new Outbox({
      clock,
      store,
      retryMs,
      fault,
      accept: (job) => (isFarewell(job.message) ? this.#family.delivered(job) : this.#accept(job)),
    });
    this.#family = new Family({
      store,
      registry: this.#registry,
      sleeps: (kind) => this.#cells.maySleep(kind),
      stop: (id, reason, above) => this.#stop(id, reason, above),
      deliver: (message, kept) => this.#outbox.add([message], kept),
      done: (messageId) => this.#outbox.done(messageId),
      fault,
    });
    this.#alarm = new Alarm({
      clock,
      entropy,
      store,
      retryMs,
      kinds: options.kinds.map(({ kind }) => kind),
      fault,
      cell: (id) => this.#cells.at(id, true),
      expire: (cell, ended) => this.#expire(cell, ended),
    });
    this.#keyed = new Keyed({
      clock,
      store,
      laters: this.#laters,
      cellFor: (message) => this.#cells.reachedBy(message),
      shown: (message) => this.#cells.shown(message),
      submit: (job, signal) => this.#submit(job, signal),
      fault: (error, { to, action }) => this.#host.fault(error, { where: "progress", actor: to, action }),
    });
    this.#guards = { clock, laters: this.#laters, cell: ({ message }) => this.#registry.get(message.to) };
    this.#host = {
      clock,
      store,
      handOver: store && commitWithCallback(store),
      keyMs: options.keyMs ?? KEY_MS,
      watchers: this.#watchers,
      laters: this.#laters,
      waits: new Waits(),
      draining: false,
      callFrom: (work, n, outgoing, endsAt, signal) => this.#callFrom(work, n, outgoing, endsAt, signal),
      deliver: (messages, kept) => this.#outbox.add(messages, kept),
      unsure: () => this.#unsure(),
      restart: (child, parent) => this.#restartChild(child, parent),
      timed: (cell) => this.#alarm.timed(cell),
      family: this.#family,
      began: (cell) => this.#began(cell),
      ended: (cell) => this.#registry.ended(cell),
      rest: (cell) => this.#rest(cell),
      forget: (cell) => this.#forget(cell),
      remember: (id, replies) => this.#keyed.remember(id, replies),
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
      ...this.#registry.figures(),
      outbox: this.#outbox.size,
      ...omitUndefined({ backlog: options.store?.backlog }),
      faults: this.#faults,
      slowTurns: this.#slowTurns,
    }));
  }

  /** Wakes and sends that were due while no engine ran leave now. Throws `ENGINE_MISSING` where a kind needs what is not there. */
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
    await this.#cells.findStrays(store);
    await this.#outbox.catchUp();
    this.#alarm.start();
  }

  call<T>(asks: Asks<T>, options?: CallOptions): Promise<ReplyWith<T>>;
  call(outgoing: Outgoing, options?: CallOptions): Promise<Reply>;
  call(outgoing: Outgoing, options?: CallOptions): Promise<unknown> {
    if (this.#phase !== "open") return Promise.reject(faults.draining());
    const message = stamp(outgoing, options, this.#clock.now(), this.#entropy);
    if (options?.key !== undefined) return this.#keyed.call(message, options.key, options);
    return this.#submitted(message, options).promise();
  }

  callNow(outgoing: Outgoing, options?: CallOptions): Reply | Promise<Reply> {
    if (this.#phase !== "open") throw faults.draining();
    const message = stamp(outgoing, options, this.#clock.now(), this.#entropy);
    // Whether a key was used is asked of the store.
    if (options?.key !== undefined) return this.#keyed.call(message, options.key, options);
    return this.#submitted(message, options).now();
  }

  async send(outgoing: Outgoing): Promise<void> {
    if (this.#phase !== "open") throw faults.draining();
    const message = stamp(outgoing, undefined, this.#clock.now(), this.#entropy);
    const cell = this.#cells.reachedBy(message);
    if (cell === undefined) throw faults.noActor(message.to);
    await cell.loading;
    if (cell.lost) throw cell.lost;
    const store = this.#store;
    if (cell.memory || store === undefined) {
      // It delivers nothing more, and keeps nothing: drained while the actor was looked for.
      if (this.#phase !== "open") throw faults.draining();
      if (cell.waiting + this.#outbox.waiting(message).sends >= cell.extra.policy.mailbox) throw faults.mailboxFull(cell.id);
      return this.#outbox.add([message], false);
    }
    try {
      await store.enqueue(message);
    } catch (error) {
      if (!faults.saysNothingKept(error)) this.#unsure();
      const fault = faults.fromStore(error);
      throw (fault.code === "STORE_IO" ? unserialisableError(message.to, message) : undefined) ?? fault;
    }
    this.#outbox.add([message], true);
  }

  read(id: ActorId): Promise<Snapshot | undefined> {
    return this.#queries.read(id);
  }

  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    return this.#queries.readNow(id);
  }

  queued(id: ActorId): number {
    return this.#queries.queued(id);
  }

  list(query: ListQuery): Promise<readonly Change[]> {
    return this.#queries.list(query);
  }

  count(query: Omit<ListQuery, "after" | "limit">): Promise<number> {
    return this.#queries.count(query);
  }

  find(uid: string): Promise<ActorId | undefined> {
    return this.#queries.find(uid);
  }

  event(id: string): Promise<ChainEvent | undefined> {
    return this.#queries.event(id);
  }

  caused(id: string): Promise<readonly ChainEvent[]> {
    return this.#queries.caused(id);
  }

  keyed(kind: string, viewer: Viewer, key: string): Promise<ActorId | undefined> {
    return this.#queries.keyed(kind, viewer, key);
  }

  history(id: ActorId, afterSeq = 0): AsyncGenerator<ChainEvent, void, undefined> {
    return this.#queries.history(id, afterSeq);
  }

  /**
   * An event that is no message's, a checkpoint say, between two turns: made of what the
   * store has then. Running work goes on before it. Throws `NO_ACTOR` where none is stored.
   */
  async append(id: ActorId, make: (stored: Stored) => Entry): Promise<Entry> {
    return this.#cells.existing(id).append(make);
  }

  async stop(id: ActorId, reason: string): Promise<void> {
    await this.#stop(id, reason, NOBODY);
  }

  async restart(id: ActorId): Promise<void> {
    const cell = this.#cells.existing(id);
    const job = new Job(this.#own(id, "restart", null));
    await cell.loading;
    if (cell.status === "unborn" && cell.quiet && cell.lost === undefined) throw faults.noActor(id);
    cell.restart(job);
    await job.promise();
  }

  #unsure(): void {
    this.#outbox.readAnew();
    this.#alarm.start();
  }

  /** That it has failed is known to its cell alone: where there is none, there is nothing to do. */
  #restartChild(child: ActorId, parent: ActorId): void {
    const cell = this.#registry.get(child);
    if (cell?.status !== "failed" || cell.extra.parent !== parent) return;
    const job = new Job(this.#own(child, "restart", null));
    job.ended = (_, error) => error && this.#host.fault(error, { where: "outbox", actor: child, action: "restart" });
    cell.restart(job);
  }

  /** A page of the actors that ended before then goes, with all their history. What this process knows of them goes, too. */
  async prune(pruning: Pruning): Promise<Pruned> {
    const store = this.#store;
    if (store === undefined) return { ended: [], damaged: [] };
    const { keyMs } = this.#host;
    const remove = async (ended: Ended): Promise<boolean> => {
      const isGone = await store.remove(ended);
      // A cell from before knows a head that is no more: what it would commit is refused (C6), until it has looked.
      if (isGone && this.#registry.get(ended.id) !== undefined) await this.restart(ended.id);
      return isGone;
    };
    return asked(prune({ store, now: settledNow(this.#clock), keyMs, remove }, pruning));
  }

  knows(kind: string): boolean {
    return this.#cells.serves(kind);
  }

  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void {
    return this.#watchers.add(topic, listener);
  }

  /** Crashes within the window and why the actor has failed; undefined while it is not in this process. */
  health(id: ActorId): Health | undefined {
    return this.#queries.health(id);
  }

  /** Sends that failed three times, oldest first. */
  async letters(limit = 1_000): Promise<readonly Letter[]> {
    return [...((await asked(this.#store?.letters(limit, this.#damaged))) ?? []), ...this.#outbox.letters()].slice(0, limit);
  }

  /** A dead letter is tried again or thrown away. False: there is none of that id. */
  async letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    if (this.#outbox.letter(messageId, fate)) return true;
    const found = (await asked(this.#store?.letter(messageId, fate))) ?? false;
    if (found && fate === "replay") await this.#outbox.catchUp();
    return found;
  }

  /** Takes no more calls; what runs has `graceMs` to end, then it is aborted. Settles when nothing runs and all handed over is durable. */
  async drain(graceMs: number): Promise<void> {
    if (this.#phase === "open") this.#phase = "draining";
    this.#host.draining = true;
    this.#alarm.close();
    this.#hide?.();
    this.#outbox.close();
    if (graceMs > 0 && !this.#allQuiet()) {
      await new Promise<void>((resolve) => {
        const undo = this.#clock.after(graceMs, resolve);
        this.#whenQuiet = () => {
          undo();
          resolve();
        };
      });
    }
    this.#phase = "closed";
    const cells = [...this.#registry.all()];
    const closed = faults.draining();
    for (const cell of cells) {
      cell.refuseAll(closed);
      cell.abortWork(closed);
    }
    await Promise.all(cells.map((cell) => cell.settled()));
    this.#laters.failAll(faults.draining(true));
    this.#idle.close();
    // Last: actors that have ended meanwhile had it settle something too.
    await this.#outbox.settled();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.drain(0);
  }

  #allQuiet(): boolean {
    for (const cell of this.#registry.all()) if (!cell.quiet) return false;
    return true;
  }

  // ── ways to a cell ────────────────────────────────────────────────────────

  #submitted(message: Message, options: CallOptions | undefined): Job {
    const job = new Job(message, options);
    job.fresh = true;
    this.#submit(job, options?.signal);
    return job;
  }

  #submit(job: Job, signal: CancelSignal | undefined): void {
    if (signal?.aborted) return job.fail(faults.cancelled(job.message.to));
    if (this.#outbox.empty || !this.#isBehind(job)) this.#accept(job);
    // An idle actor's turn has run by now: of what is over already nothing can be taken back.
    if (job.phase === "over" || (signal === undefined && job.message.deadline === undefined)) return;
    const guard = new Guard(this.#guards, job, signal);
    job.guard = guard;
    // Its caller may have left while its work began, which no listener would hear any more.
    if (signal?.aborted) guard.leave();
  }

  // Apart: what a function closes over it puts on the heap each time it is entered.
  #isBehind(job: Job): boolean {
    const { message } = job;
    job.fresh = false;
    const room = this.#registry.get(message.to)?.extra.policy.mailbox;
    if (room !== undefined && this.#outbox.waiting(message).calls >= room) {
      job.fail(faults.mailboxFull(message.to));
      return true;
    }
    return this.#outbox.after(message, () => this.#accept(job));
  }

  #accept(job: Job): void {
    if (job.phase === "over") return;
    let cell: Cell | undefined;
    try {
      cell = this.#cells.reachedBy(job.message);
    } catch (error) {
      return job.fail(faults.fromStore(error));
    }
    if (cell !== undefined) cell.push(job);
    else if (this.#cells.lapses(job.message)) job.done(OK_NULL);
    else job.fail(faults.noActor(job.message.to));
  }

  #began(cell: Cell): void {
    this.#registry.began(cell);
    if (cell.extra.policy.expireMs !== undefined) this.#alarm.timed(cell);
  }

  #rest(cell: Cell): void {
    if (cell.status === "stopped") {
      if (cell.memory) this.#keyed.forget(cell.id);
      this.#forget(cell);
    } else if (cell.status === "unborn") this.#forget(cell);
    // Whoever makes up keys and beginnings that throw must not fill the memory.
    else if (cell.memory && cell.seq === 0) this.#idle.addUnborn(cell);
    if (this.#whenQuiet !== undefined && this.#allQuiet()) this.#whenQuiet();
  }

  #forget(cell: Cell): void {
    this.#registry.forget(cell);
    this.#idle.remove(cell);
  }

  // ── on the engine's own account ───────────────────────────────────────────

  #own(to: ActorId, action: string, args: Message["args"]): Message {
    return { id: ownId(this.#entropy.hex(16)), to, action, args, at: this.#clock.now(), seed: this.#entropy.hex(16) };
  }

  #callFrom(work: Job, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply> {
    if (this.#phase === "closed") return Promise.reject(faults.draining());
    const message = stampFrom(work.message, n, outgoing, endsAt, this.#clock.now(), this.#entropy);
    // Only work that may run again, from the outbox or by a repeated call, need find its answers again.
    if (work.consumed !== undefined || work.key !== undefined)
      return this.#keyed.call(message, innerKey(work.message, work.key, n, message.action, this.#cells.shown(message)), { signal });
    const job = new Job(message);
    this.#submit(job, signal);
    return job.promise();
  }

  async #stop(id: ActorId, reason: string, above: ReadonlySet<ActorId>): Promise<void> {
    const cell = this.#cells.existing(id);
    await cell.loading;
    if (cell.lost) throw cell.lost;
    const job = new Job(this.#own(id, "stop", { reason }));
    cell.stop(job, reason, above);
    await job.promise();
  }

  #expire(cell: Cell, ended: (again: boolean) => void): void {
    if (!cell.quiet) return ended(true);
    const job = new Job(this.#own(cell.id, "stop", { reason: "expired" }));
    job.ended = (_, error) => ended(error !== undefined);
    cell.stop(job, "expired", NOBODY);
  }
}
