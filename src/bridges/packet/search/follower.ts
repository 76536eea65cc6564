// Owns: keeping the search index up to date with the chains: pending actors, batches, retries, waiting callers.
//   Does not own: reading a chain (history-reader.ts), the rows (index-rows.ts).
import type { ActorId, Change, Clock, Engine } from "../../../core/contract/index.ts";
import { PacketError } from "../packet.ts";
import { CapturedEvents, type ReadResult, CaptureQuota, type IndexedKind, ActorScan, readActorHistory } from "./history-reader.ts";
import { isDamage } from "./index-file.ts";
import { type Cursor, type IndexUpdate, splitActorId } from "./index-rows.ts";
import type { SearchIndex } from "./search-index.ts";

/** Changed actors that are remembered individually. Beyond that, a scan of all actors finds the others. */
const MAX_PENDING = 10_000;
/** Limits on one transaction, since everything else waits for it. */
const BATCH_ACTORS = 64;
const BATCH_EVENTS = 256;
const BATCH_CHARS = 131_072;
const RETRY_MS = 1_000;

interface FollowerOptions {
  readonly engine: Engine;
  readonly index: SearchIndex;
  readonly kinds: ReadonlyMap<string, IndexedKind>;
  readonly clock: Clock;
  readonly fault: (error: unknown, actor?: ActorId) => void;
}

interface Pending {
  stopped: boolean;
  rebuild: boolean;
  captured: CapturedEvents | undefined;
}

const newPending = (): Pending => ({ stopped: false, rebuild: false, captured: undefined });

/** Indexes changed actors, one batch after another. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #scan: ActorScan;
  readonly #waiters: Waiters;
  readonly #undo: readonly (() => void)[];
  #pending = new Map<ActorId, Pending>();
  /** In the batch in progress. */
  #inBatch = new Map<ActorId, Pending>();
  /** Failed, to be retried later. */
  #retrying = new Map<ActorId, Pending>();
  /** Known to be on disk, where events need not be captured at once. */
  readonly #onDisk = new Set<ActorId>();
  readonly #captureQuota = new CaptureQuota();
  #cancelBackoff: (() => void) | undefined;
  #rebuildAll = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: FollowerOptions) {
    const { engine, kinds, clock } = options;
    this.#options = options;
    this.#scan = new ActorScan(engine, [...kinds.keys()]);
    this.#waiters = new Waiters(clock);
    this.#undo = [...kinds.keys()].map((kind) => engine.watch(`${kind}/*`, (change) => this.#onChange(change)));
    this.#start();
  }

  get lag(): number {
    return this.#pending.size + this.#inBatch.size + this.#retrying.size + (this.#scan.isFinished && !this.#rebuildAll ? 0 : 1);
  }

  async caughtUp(id: ActorId | undefined, seq: number, withinMs: number | undefined): Promise<void> {
    if (id !== undefined) {
      if (!this.#options.kinds.has(splitActorId(id)[0])) return;
      const cursor = this.#cursor(id);
      if (cursor !== undefined && cursor.seq >= seq && !this.#rebuildAll) return;
      this.#add(id);
    } else if (this.lag === 0) return;
    const done = this.#waiters.wait(id, seq, withinMs);
    this.#start();
    await done;
  }

  /** Reindexes one actor, or all. */
  rebuild(id?: ActorId): void {
    if (id === undefined) this.#rebuildAll = true;
    else if (this.#options.kinds.has(splitActorId(id)[0])) this.#add(id).rebuild = true;
    this.#start();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const undo of this.#undo) undo();
    this.#cancelBackoff?.();
    this.#waiters.close();
    await this.#running;
  }

  #onChange({ id, seq, status }: Change): void {
    if (this.#closed) return;
    if (!this.#pending.has(id) && this.#pending.size >= MAX_PENDING) return this.#scan.restart();
    const pending = this.#add(id);
    if (status === "stopped") pending.stopped = true;
    if (seq === 1 || pending.captured !== undefined || !this.#onDisk.has(id)) {
      pending.captured ??= new CapturedEvents(this.#options.engine, id, this.#captureQuota);
      pending.captured.capture(seq);
    }
    // The next life may be in memory.
    if (status === "stopped") this.#onDisk.delete(id);
    this.#start();
  }

  #add(id: ActorId): Pending {
    let pending = this.#pending.get(id);
    if (pending === undefined) this.#pending.set(id, (pending = newPending()));
    return pending;
  }

  #start(): void {
    if (this.#running !== undefined || this.#closed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      // A change may have arrived while the last batch ended.
      if (this.#hasWork) this.#start();
    });
  }

  get #hasWork(): boolean {
    return !this.#closed && this.#cancelBackoff === undefined && (this.#rebuildAll || this.#pending.size > 0 || !this.#scan.isFinished);
  }

  async #run(): Promise<void> {
    // Never run within the turn that caused the change.
    await yieldToEventLoop();
    while (this.#hasWork) {
      try {
        await this.#round();
      } catch (error) {
        this.#onBatchFailed(error);
      }
      if (this.lag === 0) this.#waiters.settleAll();
      await yieldToEventLoop();
    }
  }

  async #round(): Promise<void> {
    const { index } = this.#options;
    if (this.#rebuildAll || index.writer === undefined) {
      index.recreate();
      this.#rebuildAll = false;
      this.#scan.reset();
    }
    const { writer } = index;
    if (writer === undefined) return;
    if (!this.#scan.isFinished && this.#pending.size < BATCH_ACTORS)
      for (const { id, rebuild } of await this.#scan.page(writer)) this.#add(id).rebuild ||= rebuild;
    const updates = await this.#batch();
    if (this.#closed) return;
    writer.write(updates);
    const batch = this.#inBatch;
    this.#inBatch = new Map();
    if (updates.some(({ id }) => batch.get(id)?.rebuild === true)) index.truncateLog();
    for (const [id, { captured }] of batch) {
      captured?.release();
      this.#settleWaiters(id);
    }
  }

  /** Reads the first pending actors. One that fails is retried later; the others continue. */
  async #batch(): Promise<readonly IndexUpdate[]> {
    const updates: IndexUpdate[] = [];
    let events = 0;
    let chars = 0;
    // A copy: actors that change meanwhile belong to the next batch, after this one has been written.
    for (const [id, pending] of [...this.#pending].slice(0, BATCH_ACTORS)) {
      this.#pending.delete(id);
      this.#inBatch.set(id, pending);
      const result = await this.#readActor(id, pending);
      if (result === undefined) continue;
      const { update, more } = result;
      updates.push(update);
      events += update.docs.length + 1;
      for (const { text } of update.docs) chars += text.length;
      if (more) this.#add(id);
      if (events >= BATCH_EVENTS || chars >= BATCH_CHARS) break;
    }
    return updates;
  }

  async #readActor(id: ActorId, pending: Pending): Promise<ReadResult | undefined> {
    const { engine, kinds } = this.#options;
    const kind = kinds.get(splitActorId(id)[0]);
    if (kind === undefined) return undefined;
    try {
      const captured = (await pending.captured?.events()) ?? [];
      const { rebuild, stopped } = pending;
      const result = await readActorHistory(engine, { id, of: kind, cursor: this.#cursor(id), rebuild, stopped, captured });
      if (!stopped && !this.#onDisk.has(id) && (await livesOnDisk(engine, id))) {
        if (this.#onDisk.size >= MAX_PENDING) this.#onDisk.clear();
        this.#onDisk.add(id);
      }
      return result;
    } catch (error) {
      if (isDamage(error)) throw error;
      this.#retryLater(id, pending);
      this.#options.fault(error, id);
      return undefined;
    }
  }

  #cursor(id: ActorId): Cursor | undefined {
    return this.#options.index.writer?.cursor(id);
  }

  #settleWaiters(id: ActorId): void {
    if (!this.#waiters.hasWaiterFor(id) || this.#pending.has(id)) return;
    const cursor = this.#cursor(id);
    // The awaited event is not there yet: the change came early, or no such event exists.
    if (this.#waiters.settleReached(id, cursor?.seq) > 0) this.#retryLater(id, newPending());
  }

  #retryLater(id: ActorId, pending: Pending): void {
    this.#inBatch.delete(id);
    const before = this.#retrying.get(id);
    if (before !== undefined) mergeInto(pending, before);
    this.#retrying.set(id, pending);
    this.#options.clock.after(RETRY_MS, () => this.#retry(id));
  }

  #retry(id: ActorId): void {
    const pending = this.#retrying.get(id);
    if (pending === undefined) return;
    this.#retrying.delete(id);
    mergeInto(this.#add(id), pending);
    this.#start();
  }

  /** Nothing of the batch was written. A damaged index is recreated; other failures may be temporary. */
  #onBatchFailed(error: unknown): void {
    const { fault, clock } = this.#options;
    for (const [id, pending] of this.#inBatch) this.#retryLater(id, pending);
    if (isDamage(error)) this.#rebuildAll = true;
    fault(error);
    const undo = clock.after(RETRY_MS, () => {
      this.#cancelBackoff = undefined;
      this.#start();
    });
    this.#cancelBackoff = () => {
      undo();
      this.#cancelBackoff = undefined;
    };
  }
}

async function livesOnDisk(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped" && now.persistence !== "memory";
}

function mergeInto(pending: Pending, before: Pending): void {
  pending.rebuild ||= before.rebuild;
  pending.stopped ||= before.stopped;
  if (pending.captured === undefined || before.captured === undefined) pending.captured ??= before.captured;
  else pending.captured.prepend(before.captured);
}

/** Lets other tasks run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Waiter {
  readonly id: ActorId | undefined;
  readonly seq: number;
  readonly settle: (error?: PacketError) => void;
}

/** Callers that wait until an event is searchable. */
class Waiters {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wait(id: ActorId | undefined, seq: number, withinMs: number | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let undo: (() => void) | undefined;
      const waiter: Waiter = {
        id,
        seq,
        settle: (error) => {
          undo?.();
          this.#waiters.delete(waiter);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      this.#waiters.add(waiter);
      if (withinMs !== undefined) undo = this.#clock.after(withinMs, () => waiter.settle(notCaughtUp(withinMs)));
    });
  }

  hasWaiterFor(id: ActorId): boolean {
    for (const waiter of this.#waiters) if (waiter.id === id) return true;
    return false;
  }

  /** Settles waiters of that actor up to `seq`, or all if the actor was removed (undefined). Returns how many still wait. */
  settleReached(id: ActorId, seq: number | undefined): number {
    let left = 0;
    for (const waiter of [...this.#waiters].filter((one) => one.id === id))
      if (seq === undefined || seq >= waiter.seq) waiter.settle();
      else left += 1;
    return left;
  }

  /** Everything is indexed. */
  settleAll(): void {
    for (const waiter of this.#waiters) if (waiter.id === undefined) waiter.settle();
  }

  close(): void {
    const error = new PacketError("cancelled", "The search index has been closed: nothing more can be found in it.");
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}

const notCaughtUp = (withinMs: number): PacketError =>
  new PacketError(
    "persistence_failed",
    `After ${withinMs} ms the search index has not come that far: search without waiting for it, or wait longer.`,
    { timeout_ms: withinMs },
  );
