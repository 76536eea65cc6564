/**
 * What turns have sent, on its way to who shall receive it.
 *
 * C5: one lane per pair of actors, one message of it at a time. A message of the
 * store's leaves the store in the transaction of the turn it causes, or by `settle`
 * where it causes none; the lane waits for either. Three failures make a dead letter.
 */
import type { Clock, Damaged, EngineError, Letter, Message, Reply, Settling, Store } from "../contract/index.ts";
import { answerMessage, askerOf, atMostBytes, faults, missingActorReply, misunderstood } from "../chain/internal.ts";
import { asReplay } from "../contract/internal.ts";
import { damageTo } from "./damage.ts";
import type { Host } from "./host.ts";
import { Job } from "./job.ts";
import { Mailbox } from "./mailbox.ts";

const MOST_FAILURES = 3;
/** Read from the store at a time; ten times as many are held at most. */
const PAGE = 1_000;
/** What is held is at most about as large, as its text can be at most: a sixth of it in plain letters. */
const MOST_BYTES = 268_435_456;
const MOST_LETTERS = 1_000;
/** Deliveries in one go: two memory actors that write to each other for ever must not stop the world. */
const BURST = 256;

interface Parcel {
  readonly message: Message;
  /** The store has it too. */
  readonly kept: boolean;
  /** Of what is kept, which can wait there instead. */
  readonly bytes: number;
  failures: number;
  /** What waits until it has been delivered. */
  behind?: (() => void)[];
}

interface Lane {
  readonly key: string;
  readonly parcels: Mailbox<Parcel>;
  /** How much waits behind parcels. */
  behind: number;
  busy: boolean;
}

const laneOf = (from: string | undefined, to: string): string => `${from ?? ""} ${to}`;

export interface OutboxHost extends Pick<Host, "fault"> {
  readonly clock: Clock;
  readonly store: Store | undefined;
  /** The wait after a first failure; a store that fails is asked again after half of it. */
  readonly retryMs: number;
  accept(job: Job): void;
}

export class Outbox {
  readonly #host: OutboxHost;
  readonly #damaged: Damaged;
  readonly #lanes = new Map<string, Lane>();
  /** The store's messages that are in a lane. */
  readonly #held = new Set<string>();
  #heldBytes = 0;
  readonly #letters = new Map<string, Letter>();
  readonly #undos = new Set<() => void>();
  readonly #settling = new Set<Promise<void>>();
  readonly #ready = new Mailbox<Lane>();
  #scheduled = false;
  /** Deliveries since others had their turn: with a store in memory each ends in a microtask of its own, which is one go all the same. */
  #burst = 0;
  #closed = false;
  /** The store has more than is in the lanes: what is new is read from it, in its order. */
  #behind = false;
  #missed = false;
  #reading = false;
  #leftMeanwhile = new Set<string>();

  constructor(host: OutboxHost) {
    this.#host = host;
    this.#damaged = damageTo(host.fault, "outbox");
  }

  add(messages: readonly Message[], kept: boolean): void {
    if (this.#closed) return;
    for (const message of messages) {
      if (kept && (this.#behind || this.#held.size >= 10 * PAGE || this.#heldBytes >= MOST_BYTES)) {
        this.#behind = true;
        this.#missed = true;
      } else this.#put(message, kept);
    }
  }

  /** Reads on where the store has more than the lanes. Throws where asking again will not help: the store's file is damaged. */
  async catchUp(): Promise<void> {
    const { store } = this.#host;
    this.#behind = true;
    this.#missed = true;
    if (store === undefined || this.#reading || this.#closed) return;
    this.#reading = true;
    while (this.#missed && this.#hasRoom(1) && !this.#closed) {
      this.#missed = false;
      this.#leftMeanwhile.clear();
      let found: Awaited<ReturnType<Store["undelivered"]>> = [];
      let damaged: EngineError | undefined;
      const read = async (): Promise<void> => {
        try {
          found = await store.undelivered(PAGE, this.#damaged, this.#held);
        } catch (error) {
          const fault = faults.fromStore(error);
          if (faults.isPassing(fault)) throw error;
          damaged = fault;
        }
      };
      if (!(await this.#persist(read))) break;
      if (damaged !== undefined) {
        this.#reading = false;
        throw damaged;
      }
      // There may be more, but not after a page in which nothing is new: a store that passes over nothing tells the same for ever.
      for (const { message, failures } of found) {
        if (this.#held.has(message.id)) continue;
        this.#missed = true;
        if (!this.#leftMeanwhile.has(message.id)) this.#put(message, true, failures);
      }
    }
    this.#reading = false;
    this.#behind = this.#missed;
  }

  /** C5: the store may have a message that was never added. What is added from now on waits until that has been read. */
  readAnew(): void {
    this.#track(this.catchUp().catch((error: unknown) => this.#host.fault(error, { where: "outbox" })));
  }

  /** A message of the store's that was never in a lane has had its effect. */
  done(messageId: string): void {
    this.#track(this.#persist(() => this.#host.store?.settle(messageId, "done")).then(() => undefined));
  }

  /** The store's messages that are on their way; it may have more, which nobody has read yet. */
  get size(): number {
    return this.#held.size;
  }

  /** Nothing is on its way. */
  get empty(): boolean {
    return this.#lanes.size === 0;
  }

  /** C5: runs `act` once what the same sender has sent there before has been delivered. False, and nothing: nothing was. */
  after({ from, to }: Pick<Message, "from" | "to">, act: () => void): boolean {
    if (this.#closed) return false;
    const lane = this.#lanes.get(laneOf(from, to));
    const last = lane?.parcels.last();
    if (lane === undefined || last === undefined) return false;
    (last.behind ??= []).push(act);
    lane.behind += 1;
    return true;
  }

  /** What the same sender has sent there and is not delivered, and what waits behind it. */
  waiting({ from, to }: Pick<Message, "from" | "to">): { readonly sends: number; readonly calls: number } {
    const lane = this.#lanes.get(laneOf(from, to));
    return { sends: lane?.parcels.length ?? 0, calls: lane?.behind ?? 0 };
  }

  letters(): readonly Letter[] {
    return [...this.#letters.values()];
  }

  letter(messageId: string, fate: "replay" | "drop"): boolean {
    const letter = this.#letters.get(messageId);
    if (letter === undefined) return false;
    this.#letters.delete(messageId);
    if (fate === "replay") this.#put(asReplay(letter.message), false);
    return true;
  }

  /** No more deliveries. */
  close(): void {
    this.#closed = true;
    for (const undo of this.#undos) undo();
    this.#undos.clear();
    // Whoever waits behind what is no longer delivered is refused by the actor itself.
    for (const { parcels } of this.#lanes.values()) for (const { behind = [] } of parcels.drain()) for (const act of behind) act();
  }

  /** Settles when what the store was asked has been answered. */
  async settled(): Promise<void> {
    while (this.#settling.size > 0) await Promise.all(this.#settling);
  }

  #hasRoom(part: number): boolean {
    return this.#held.size < PAGE * part && this.#heldBytes < MOST_BYTES * part;
  }

  #put(message: Message, kept: boolean, failures = 0): void {
    const parcel: Parcel = { message, kept, bytes: kept ? atMostBytes(message.args) : 0, failures };
    const key = laneOf(message.from, message.to);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { key, parcels: new Mailbox(), behind: 0, busy: false };
      this.#lanes.set(key, lane);
    }
    if (kept) {
      this.#held.add(message.id);
      this.#heldBytes += parcel.bytes;
    }
    lane.parcels.add(parcel);
    if (!lane.busy) this.#schedule(lane);
  }

  #schedule(lane: Lane): void {
    lane.busy = true;
    this.#ready.add(lane);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    for (; this.#burst < BURST; this.#burst += 1) {
      const lane = this.#ready.shift();
      if (lane === undefined) {
        this.#scheduled = false;
        return;
      }
      this.#deliver(lane);
    }
    this.#burst = 0;
    setImmediate(() => this.#flush());
  }

  #deliver(lane: Lane): void {
    const parcel = lane.parcels.peek();
    if (parcel === undefined || this.#closed) return;
    const job = new Job(parcel.message);
    job.bounded = false;
    if (parcel.kept) job.consumed = parcel.message.id;
    job.ended = (reply, error) => this.#ended(lane, parcel, job, reply, error);
    this.#host.accept(job);
  }

  #ended(lane: Lane, parcel: Parcel, job: Job, reply: Reply | undefined, error: EngineError | undefined): void {
    if (this.#closed && !job.kept) return;
    if (error !== undefined) {
      if (error.code === "STORE_CONFLICT" && parcel.kept) return this.#track(this.#disputed(lane, parcel));
      if (faults.isPassing(error)) return this.#again(lane, this.#host.retryMs / 2);
      const missing = missingActorReply(parcel.message, error);
      if (missing !== undefined) return this.#track(this.#finish(lane, parcel, missing));
      parcel.failures += 1;
      return this.#track(this.#failed(lane, parcel, error));
    }
    this.#tellIfMisunderstood(parcel.message, reply);
    const unanswered = askerOf(parcel.message) !== undefined && !job.answered;
    if (job.kept || (!parcel.kept && !unanswered)) return this.#next(lane, parcel);
    this.#track(this.#finish(lane, parcel, unanswered ? reply : undefined));
  }

  #tellIfMisunderstood(message: Message, reply: Reply | undefined): void {
    const error = misunderstood(message, reply);
    if (error !== undefined) this.#host.fault(error, { where: "outbox", actor: message.to, action: message.action });
  }

  /** It left no event that could have taken it out of the store, nor its answer along. */
  async #finish(lane: Lane, parcel: Parcel, reply: Reply | undefined): Promise<void> {
    const answer = reply && this.#answerTo(parcel.message, reply);
    if (parcel.kept && !(await this.#settle(parcel, "done", answer && { answer }))) return;
    if (answer) this.add([answer], parcel.kept);
    this.#next(lane, parcel);
  }

  /** The actor has moved on, or the message was applied already: the store knows which. */
  async #disputed(lane: Lane, parcel: Parcel): Promise<void> {
    let gone = false;
    const asked = await this.#persist(async () => {
      const seen = new Set(this.#held);
      seen.delete(parcel.message.id);
      let known: number;
      do {
        known = seen.size;
        const left = (await this.#host.store?.undelivered(PAGE, this.#damaged, seen)) ?? [];
        for (const { message } of left) seen.add(message.id);
      } while (seen.size > known && !seen.has(parcel.message.id));
      gone = !seen.has(parcel.message.id);
    });
    if (!asked) return;
    if (gone) this.#next(lane, parcel);
    else this.#again(lane, this.#host.retryMs / 2);
  }

  async #failed(lane: Lane, parcel: Parcel, error: EngineError): Promise<void> {
    const { message } = parcel;
    const why = `${error.code}: ${error.message}`;
    const about = { where: "outbox", actor: message.to, action: message.action } as const;
    if (parcel.failures < MOST_FAILURES) {
      this.#host.fault(error, about);
      if (parcel.kept && !(await this.#settle(parcel, "failed"))) return;
      this.#again(lane, this.#host.retryMs * 4 ** (parcel.failures - 1));
      return;
    }
    // Who asked with `replyAs` must not wait for ever.
    const answer = this.#answerTo(message, { refused: { code: error.code, message: error.message } });
    if (parcel.kept) {
      if (!(await this.#settle(parcel, "dead", answer === undefined ? { why } : { why, answer }))) return;
    } else {
      const [oldest] = this.#letters.keys();
      if (oldest !== undefined && this.#letters.size >= MOST_LETTERS) this.#letters.delete(oldest);
      this.#letters.set(message.id, { message, why, at: this.#host.clock.now() });
    }
    this.#host.fault(error, { ...about, letter: message.id });
    if (answer) this.add([answer], parcel.kept);
    this.#next(lane, parcel);
  }

  #settle({ message }: Parcel, how: Parameters<Store["settle"]>[1], more?: Settling): Promise<boolean> {
    return this.#persist(() => this.#host.store?.settle(message.id, how, more));
  }

  #answerTo(message: Message, reply: Reply): Message | undefined {
    return answerMessage(message, reply, this.#host.clock.now());
  }

  #next(lane: Lane, { message, kept, bytes, behind }: Parcel): void {
    lane.parcels.shift();
    if (kept) {
      this.#held.delete(message.id);
      this.#heldBytes -= bytes;
      if (this.#reading) this.#leftMeanwhile.add(message.id);
    }
    lane.busy = false;
    if (lane.parcels.length > 0) this.#schedule(lane);
    else this.#lanes.delete(lane.key);
    if (behind !== undefined) {
      lane.behind -= behind.length;
      for (const act of behind) act();
    }
    if (this.#behind && !this.#reading && this.#hasRoom(1 / 2)) this.readAnew();
  }

  #again(lane: Lane, afterMs: number): void {
    if (!this.#closed) this.#after(afterMs, () => this.#schedule(lane));
  }

  #after(ms: number, run: () => void): void {
    const undo = this.#host.clock.after(ms, () => {
      this.#undos.delete(undo);
      run();
    });
    this.#undos.add(undo);
  }

  /** Until the store has done it. False: closed before. */
  async #persist(write: () => Promise<void> | undefined): Promise<boolean> {
    for (;;) {
      try {
        await write();
        return true;
      } catch (error) {
        this.#host.fault(error, { where: "outbox" });
      }
      if (this.#closed) return false;
      await new Promise<void>((resolve) => {
        const undo = this.#host.clock.after(this.#host.retryMs / 2, () => {
          this.#undos.delete(wake);
          resolve();
        });
        // Undone by `close`, the wait is over too.
        const wake = (): void => {
          undo();
          resolve();
        };
        this.#undos.add(wake);
      });
      if (this.#closed) return false;
    }
  }

  #track(settling: Promise<void>): void {
    const tracked = settling.finally(() => this.#settling.delete(tracked));
    this.#settling.add(tracked);
  }
}
