import type { ActorId, Change, Clock, Engine } from "../../../core/contract/index.ts";
import { PacketError } from "../packet.ts";
import { Early, type Looked, Room, type Searched, Sweep, lookAt } from "./history-reader.ts";
import { isDamage } from "./index-file.ts";
import { type Cursor, type Step, split } from "./index-rows.ts";
import type { SearchIndex } from "./search-index.ts";

/** Actors told of and not yet looked at: more are found by a walk along all of them. */
const MOST_PENDING = 10_000;
/** What goes into one transaction: others wait as long as it takes. */
const BATCH_ACTORS = 64;
const BATCH_EVENTS = 256;
const BATCH_CHARS = 131_072;
const RETRY_MS = 1_000;

export interface FollowerOptions {
  readonly engine: Engine;
  readonly index: SearchIndex;
  readonly kinds: ReadonlyMap<string, Searched>;
  readonly clock: Clock;
  readonly fault: (error: unknown, actor?: ActorId) => void;
}

interface Pending {
  stopped: boolean;
  anew: boolean;
  early: Early | undefined;
}

/** Keeps the index after the chains: whatever has been told of is looked at, one batch after the other. */
export class Follower {
  readonly #options: FollowerOptions;
  readonly #sweep: Sweep;
  readonly #waiters: Waiters;
  readonly #undo: readonly (() => void)[];
  #pending = new Map<ActorId, Pending>();
  /** In the batch that is being made. */
  #taken = new Map<ActorId, Pending>();
  /** Failed: again in a while. */
  #later = new Map<ActorId, Pending>();
  /** Known to live on disk, where no event has to be taken before it is looked at. */
  readonly #lasting = new Set<ActorId>();
  readonly #room = new Room();
  #stuck: (() => void) | undefined;
  #renew = false;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(options: FollowerOptions) {
    const { engine, kinds, clock } = options;
    this.#options = options;
    this.#sweep = new Sweep(engine, [...kinds.keys()]);
    this.#waiters = new Waiters(clock);
    this.#undo = [...kinds.keys()].map((kind) => engine.watch(`${kind}/*`, (change) => this.#heard(change)));
    this.#wake();
  }

  get lag(): number {
    return this.#pending.size + this.#taken.size + this.#later.size + (this.#sweep.over && !this.#renew ? 0 : 1);
  }

  async caughtUp(id: ActorId | undefined, seq: number, withinMs: number | undefined): Promise<void> {
    if (id !== undefined) {
      if (!this.#options.kinds.has(split(id)[0])) return;
      const cursor = this.#cursor(id);
      if (cursor !== undefined && cursor.seq >= seq && !this.#renew) return;
      this.#add(id);
    } else if (this.lag === 0) return;
    const done = this.#waiters.wait(id, seq, withinMs);
    this.#wake();
    await done;
  }

  /** One actor anew, or all. */
  rebuild(id?: ActorId): void {
    if (id === undefined) this.#renew = true;
    else if (this.#options.kinds.has(split(id)[0])) this.#add(id).anew = true;
    this.#wake();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const undo of this.#undo) undo();
    this.#stuck?.();
    this.#waiters.close();
    await this.#running;
  }

  #heard({ id, seq, status }: Change): void {
    if (this.#closed) return;
    if (!this.#pending.has(id) && this.#pending.size >= MOST_PENDING) return this.#sweep.restart();
    const pending = this.#add(id);
    if (status === "stopped") pending.stopped = true;
    if (seq === 1 || pending.early !== undefined || !this.#lasting.has(id)) {
      pending.early ??= new Early(this.#options.engine, id, this.#room);
      pending.early.take(seq);
    }
    // The next life may be in memory.
    if (status === "stopped") this.#lasting.delete(id);
    this.#wake();
  }

  #add(id: ActorId): Pending {
    let pending = this.#pending.get(id);
    if (pending === undefined) this.#pending.set(id, (pending = { stopped: false, anew: false, early: undefined }));
    return pending;
  }

  #wake(): void {
    if (this.#running !== undefined || this.#closed) return;
    this.#running = this.#run().finally(() => {
      this.#running = undefined;
      // What came while the last round ended.
      if (this.#hasWork) this.#wake();
    });
  }

  get #hasWork(): boolean {
    return !this.#closed && this.#stuck === undefined && (this.#renew || this.#pending.size > 0 || !this.#sweep.over);
  }

  async #run(): Promise<void> {
    // Never within the turn that was told of.
    await pause();
    while (this.#hasWork) {
      try {
        await this.#round();
      } catch (error) {
        this.#failed(error);
      }
      if (this.lag === 0) this.#waiters.allDone();
      await pause();
    }
  }

  async #round(): Promise<void> {
    const { index } = this.#options;
    if (this.#renew || index.rows === undefined) {
      index.renew();
      this.#renew = false;
      this.#sweep.reset();
    }
    const { rows } = index;
    if (rows === undefined) return;
    if (!this.#sweep.over && this.#pending.size < BATCH_ACTORS)
      for (const { change, anew } of await this.#sweep.page(rows))
        if (anew) this.#add(change.id).anew = true;
        else this.#add(change.id);
    const steps = await this.#batch();
    if (this.#closed) return;
    rows.write(steps);
    const taken = this.#taken;
    this.#taken = new Map();
    if (steps.some(({ id }) => taken.get(id)?.anew === true)) index.clean();
    for (const [id, { early }] of taken) {
      early?.release();
      this.#tell(id);
    }
  }

  /** Looks at the first of those that wait. One whose look fails is put off; the others go on. */
  async #batch(): Promise<readonly Step[]> {
    const steps: Step[] = [];
    let events = 0;
    let chars = 0;
    // A copy: who is told of meanwhile comes with the next batch, after what this one has written.
    for (const [id, pending] of [...this.#pending].slice(0, BATCH_ACTORS)) {
      this.#pending.delete(id);
      this.#taken.set(id, pending);
      const looked = await this.#look(id, pending);
      if (looked === undefined) continue;
      const { step, more } = looked;
      steps.push(step);
      events += step.docs.length + 1;
      for (const { text } of step.docs) chars += text.length;
      if (more) this.#add(id);
      if (events >= BATCH_EVENTS || chars >= BATCH_CHARS) break;
    }
    return steps;
  }

  async #look(id: ActorId, pending: Pending): Promise<Looked | undefined> {
    const { engine, kinds } = this.#options;
    const of = kinds.get(split(id)[0]);
    if (of === undefined) return undefined;
    try {
      const early = (await pending.early?.events()) ?? [];
      const { anew, stopped } = pending;
      const looked = await lookAt(engine, { id, of, cursor: this.#cursor(id), anew, stopped, early });
      if (!stopped && !this.#lasting.has(id) && (await livesOnDisk(engine, id))) {
        if (this.#lasting.size >= MOST_PENDING) this.#lasting.clear();
        this.#lasting.add(id);
      }
      return looked;
    } catch (error) {
      if (isDamage(error)) throw error;
      this.#putOff(id, pending);
      this.#options.fault(error, id);
      return undefined;
    }
  }

  #cursor(id: ActorId): Cursor | undefined {
    return this.#options.index.rows?.cursor(id);
  }

  #tell(id: ActorId): void {
    if (!this.#waiters.waitFor(id) || this.#pending.has(id)) return;
    const cursor = this.#cursor(id);
    // It has not come to what they wait for: a hint was early, or nobody knows of such an event.
    if (this.#waiters.reached(id, cursor?.seq) > 0) this.#putOff(id, { stopped: false, anew: false, early: undefined });
  }

  #putOff(id: ActorId, pending: Pending): void {
    this.#taken.delete(id);
    const before = this.#later.get(id);
    if (before !== undefined) addTo(pending, before);
    this.#later.set(id, pending);
    this.#options.clock.after(RETRY_MS, () => this.#retry(id));
  }

  #retry(id: ActorId): void {
    const pending = this.#later.get(id);
    if (pending === undefined) return;
    this.#later.delete(id);
    addTo(this.#add(id), pending);
    this.#wake();
  }

  /** Nothing of the batch was written. Damage is mended by making the index anew; what else fails may be over in a while. */
  #failed(error: unknown): void {
    const { fault, clock } = this.#options;
    for (const [id, pending] of this.#taken) this.#putOff(id, pending);
    if (isDamage(error)) this.#renew = true;
    fault(error);
    const undo = clock.after(RETRY_MS, () => {
      this.#stuck = undefined;
      this.#wake();
    });
    this.#stuck = () => {
      undo();
      this.#stuck = undefined;
    };
  }
}

async function livesOnDisk(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now !== undefined && now.status !== "stopped" && now.persistence !== "memory";
}

function addTo(pending: Pending, before: Pending): void {
  pending.anew ||= before.anew;
  pending.stopped ||= before.stopped;
  if (pending.early === undefined || before.early === undefined) pending.early ??= before.early;
  else pending.early.prepend(before.early);
}

/** Others have their turn. */
const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Waiter {
  readonly id: ActorId | undefined;
  readonly seq: number;
  readonly settle: (error?: PacketError) => void;
}

/** Who waits until something can be found. */
export class Waiters {
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
      if (withinMs !== undefined) undo = this.#clock.after(withinMs, () => waiter.settle(late(withinMs)));
    });
  }

  waitFor(id: ActorId): boolean {
    for (const waiter of this.#waiters) if (waiter.id === id) return true;
    return false;
  }

  /** How many still wait for that actor. Seq undefined: it has gone, and all with it. */
  reached(id: ActorId, seq: number | undefined): number {
    let left = 0;
    for (const waiter of [...this.#waiters].filter((one) => one.id === id))
      if (seq === undefined || seq >= waiter.seq) waiter.settle();
      else left += 1;
    return left;
  }

  /** Nothing is missing. */
  allDone(): void {
    for (const waiter of this.#waiters) if (waiter.id === undefined) waiter.settle();
  }

  close(): void {
    const error = new PacketError("cancelled", "The search index has been closed: nothing more can be found in it.");
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}

const late = (withinMs: number): PacketError =>
  new PacketError(
    "persistence_failed",
    `After ${withinMs} ms the search index has not come that far: search without waiting for it, or wait longer.`,
    { timeout_ms: withinMs },
  );
