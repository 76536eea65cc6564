// Owns: delivery of the messages that turns have sent (C5): order, retries, dead letters.
// Does not own: the receiving turn (cell.ts), or where a message is stored.
import type { CallOptions, Clock, Damaged, EngineError, DeadLetter, Message, Reply, OutboxAck, Store } from "../contract/index.ts";
import {
  answerMessage,
  askerOf,
  atMostBytes,
  callerLeftRefusal,
  cancelledWith,
  deadLetterAnswer,
  faults,
  finalRefusal,
  firstCall,
  letterReason,
  thrownText,
  unhandledMessage,
} from "../chain/internal.ts";
import { asReplay, checkWholeNumber, DELIVERY_ATTEMPTS, hasBegun, MultiMap } from "../contract/internal.ts";
import { damageReporter, type FaultContext, fromStore, type OnFault } from "./fault-reports.ts";
import { type ForwardedCalls, Job } from "./job.ts";
import { Mailbox } from "./mailbox.ts";

/** How many are read from the store at a time; at most ten times as many are held in memory. */
const PAGE = 1_000;
/** Limit for the messages in memory, by an upper bound of their sizes: six bytes for each character. */
const MAX_BYTES = 268_435_456;
const MAX_LETTERS = 1_000;
/** Deliveries without a break: two memory actors that send to each other forever must not block the event loop. */
const BURST = 256;

interface OutboxMessage {
  readonly message: Message;
  /** The store has it too. */
  readonly stored: boolean;
  /** 0 if it is not stored: only stored messages can wait in the store instead. */
  readonly bytes: number;
  failures: number;
  /** Runs once it has been delivered: calls that wait for it. */
  behind?: (() => void)[];
}

/** A message from outside that is not in its channel yet. */
export interface Arrival {
  readonly message: Message;
  /** Calls that were made after it. */
  readonly behind: (() => void)[];
}

/** The messages of one sender to one receiver. One at a time is being delivered. */
interface Channel {
  readonly key: string;
  readonly messages: Mailbox<OutboxMessage>;
  /** How many calls wait behind the messages. */
  behind: number;
  busy: boolean;
}

const channelKey = (from: string | undefined, to: string): string => `${from ?? ""} ${to}`;

export interface OutboxHost {
  readonly clock: Clock;
  readonly store: Store | undefined;
  /** The delay after a first failure. A failed store is retried after half of it. */
  readonly retryMs: number;
  accept(job: Job): void;
  /** The listeners of the callers that wait for the reply to a forwarded call. */
  listeners(call: string | undefined): CallOptions | undefined;
  readonly forwarded: Pick<ForwardedCalls, "begin" | "end">;
  readonly fault: OnFault;
  /** Some of its arguments are secret. */
  hasSecrets(message: Message): boolean;
  /** It begins an actor that is not there. */
  mayStart(message: Message): boolean;
  /** Another engine will deliver it: if it is stored, it waits in the store. */
  isOthers(message: Message): boolean;
}

/**
 * C5: one channel per pair of actors, which delivers one message at a time. A stored message is removed from the store in the
 * transaction of the turn it causes, or by `settle` if it causes none; the channel waits for either. After three failures it is a dead
 * letter.
 */
export class Outbox {
  readonly #host: OutboxHost;
  readonly #damaged: Damaged;
  readonly #channels = new Map<string, Channel>();
  /** The stored messages that are in a channel. */
  readonly #held = new Set<string>();
  /** By channel, in the order in which they were sent. */
  readonly #arriving = new MultiMap<string, Arrival>();
  #heldBytes = 0;
  /** The stored messages that were read and are another engine's. */
  readonly #others = new Set<string>();
  readonly #deadLetters = new Map<string, DeadLetter>();
  readonly #undos = new Set<() => void>();
  readonly #settling = new Set<Promise<void>>();
  readonly #ready = new Mailbox<Channel>();
  #scheduled = false;
  /** Deliveries since other events could run. Each may end in a microtask of its own; all these count as one burst. */
  #burst = 0;
  #closed = false;
  /** The store has messages that no channel has: new ones have to be read from it too, in order. */
  #storeHasMore = false;
  #missed = false;
  #reading = false;
  #deliveredMeanwhile = new Set<string>();

  constructor(host: OutboxHost) {
    this.#host = host;
    this.#damaged = damageReporter(host.fault, "outbox");
  }

  add(messages: readonly Message[], stored: boolean): void {
    if (this.#closed) return;
    for (const message of messages) {
      if (stored && this.#host.isOthers(message)) continue;
      if (stored && (this.#storeHasMore || this.#held.size >= 10 * PAGE || this.#heldBytes >= MAX_BYTES)) {
        this.#storeHasMore = true;
        this.#missed = true;
      } else this.#put(message, stored);
    }
  }

  /** Reserves the place of a message before the calls that are made from now on, until `arrived`. */
  arrive(message: Message): Arrival {
    const arrival: Arrival = { message, behind: [] };
    this.#arriving.put(channelKey(message.from, message.to), arrival);
    return arrival;
  }

  /** The message was added, or never will be. */
  arrived(arrival: Arrival): void {
    const { message, behind } = arrival;
    this.#arriving.take(channelKey(message.from, message.to), arrival);
    for (const act of behind) if (!this.#behindChannel(message, act)) act();
  }

  /** Reads messages that only the store has. Throws if retrying will not help: the store's file is damaged. */
  async catchUp(): Promise<void> {
    const { store } = this.#host;
    this.#storeHasMore = true;
    this.#missed = true;
    if (store === undefined || this.#reading || this.#closed) return;
    this.#reading = true;
    while (this.#missed && this.#hasRoom(1) && !this.#closed) {
      this.#missed = false;
      this.#deliveredMeanwhile.clear();
      let found: Awaited<ReturnType<Store["undelivered"]>> = [];
      let damaged: EngineError | undefined;
      const read = async (): Promise<void> => {
        try {
          const known = this.#others.size === 0 ? this.#held : new Set([...this.#held, ...this.#others]);
          // For each page the store goes through all known messages again, so the pages grow with their number.
          found = await store.undelivered(Math.min(PAGE + this.#others.size, 9 * PAGE), this.#damaged, known);
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
      // Stop at a page with nothing new: a store that ignores `held` would return the same page forever.
      for (const { message, failures } of found) {
        if (this.#held.has(message.id) || this.#others.has(message.id)) continue;
        this.#missed = true;
        if (this.#host.isOthers(message)) this.#others.add(message.id);
        else if (!this.#deliveredMeanwhile.has(message.id)) this.#put(message, true, failures);
      }
    }
    this.#reading = false;
    this.#storeHasMore = this.#missed;
  }

  /** C5: the store may have a message that was never added. Messages added from now on wait until that has been read. */
  reread(): void {
    this.#track(this.catchUp().catch((error: unknown) => this.#host.fault(error, { where: "outbox" })));
  }

  /** Removes a stored message that was never in a channel and has had its effect. */
  done(messageId: string): void {
    this.#track(this.#persist(() => this.#host.store?.settle(messageId, "done")).then(() => undefined));
  }

  /** How many stored messages are in channels. The store may have more. */
  get size(): number {
    return this.#held.size;
  }

  /** Nothing is being delivered. */
  get empty(): boolean {
    return this.#channels.size === 0 && this.#arriving.size === 0;
  }

  /** C5: runs `act` once all earlier messages of the same sender to that actor are delivered. False, without running it: there are none. */
  after(message: Pick<Message, "from" | "to">, act: () => void): boolean {
    const last = this.#arrivals(message).at(-1);
    if (last === undefined) return this.#behindChannel(message, act);
    last.behind.push(act);
    return true;
  }

  #behindChannel({ from, to }: Pick<Message, "from" | "to">, act: () => void): boolean {
    if (this.#closed) return false;
    const channel = this.#channels.get(channelKey(from, to));
    const last = channel?.messages.last();
    if (channel === undefined || last === undefined) return false;
    (last.behind ??= []).push(act);
    channel.behind += 1;
    return true;
  }

  /** How many messages of that sender to that actor are not delivered, and how many calls wait behind them. */
  waiting(message: Pick<Message, "from" | "to">): { readonly sends: number; readonly calls: number } {
    const channel = this.#channels.get(channelKey(message.from, message.to));
    let calls = channel?.behind ?? 0;
    for (const { behind } of this.#arrivals(message)) calls += behind.length;
    return { sends: channel?.messages.length ?? 0, calls };
  }

  /** Whether an earlier message of that sender to that actor, which may start it, may not have been delivered. */
  mayFollow(arrival: Arrival): boolean {
    const { message } = arrival;
    return this.#storeHasMore || this.waiting(message).sends > 0 || this.#arrivals(message)[0] !== arrival;
  }

  #arrivals({ from, to }: Pick<Message, "from" | "to">): readonly Arrival[] {
    return this.#arriving.size === 0 ? [] : [...(this.#arriving.get(channelKey(from, to)) ?? [])];
  }

  /** Dead letters, those in the store first. `except`: see `Store.letters`. */
  async letters(limit: number, except?: ReadonlySet<string>): Promise<readonly DeadLetter[]> {
    checkWholeNumber("limit", limit);
    const stored = (await fromStore(this.#host.store?.letters(limit, this.#damaged, except))) ?? [];
    // A page of large letters ends early: there may be more in the store.
    if (except !== undefined && stored.length > 0) return stored;
    const inMemory = [...this.#deadLetters.values()].filter(({ message }) => except?.has(message.id) !== true);
    return [...stored, ...inMemory].slice(0, limit);
  }

  /** False: there is no dead letter with this id. */
  async letter(messageId: string, fate: "replay" | "drop"): Promise<boolean> {
    const letter = this.#deadLetters.get(messageId);
    if (letter !== undefined) {
      this.#deadLetters.delete(messageId);
      if (fate === "replay") this.#put(asReplay(letter.message), false);
      return true;
    }
    const found = (await fromStore(this.#host.store?.letter(messageId, fate))) ?? false;
    if (found && fate === "replay") await this.catchUp();
    return found;
  }

  /** No more deliveries. */
  close(): void {
    this.#closed = true;
    for (const undo of this.#undos) undo();
    this.#undos.clear();
    // Their actors refuse the calls that wait behind these messages.
    for (const { messages } of this.#channels.values()) for (const { behind = [] } of messages.drain()) for (const act of behind) act();
  }

  /** Settles when the store has answered. */
  async settled(): Promise<void> {
    while (this.#settling.size > 0) await Promise.all(this.#settling);
  }

  #hasRoom(part: number): boolean {
    return this.#held.size < PAGE * part && this.#heldBytes < MAX_BYTES * part;
  }

  #put(message: Message, stored: boolean, failures = 0): void {
    const item: OutboxMessage = { message, stored, bytes: stored ? atMostBytes(message.args) : 0, failures };
    const key = channelKey(message.from, message.to);
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = { key, messages: new Mailbox(), behind: 0, busy: false };
      this.#channels.set(key, channel);
    }
    if (stored) {
      this.#held.add(message.id);
      this.#heldBytes += item.bytes;
    }
    channel.messages.add(item);
    if (!channel.busy) this.#schedule(channel);
  }

  #schedule(channel: Channel): void {
    channel.busy = true;
    this.#ready.add(channel);
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    for (; this.#burst < BURST; this.#burst += 1) {
      const channel = this.#ready.shift();
      if (channel === undefined) {
        this.#scheduled = false;
        return;
      }
      this.#deliver(channel);
    }
    this.#burst = 0;
    setImmediate(() => this.#flush());
  }

  #deliver(channel: Channel): void {
    const item = channel.messages.peek();
    if (item === undefined || this.#closed) return;
    const call = cancelledWith(item.message);
    const job = new Job(item.message, this.#host.listeners(firstCall(item.message)));
    const left = call === undefined ? undefined : this.#host.forwarded.begin(call, job);
    if (left !== undefined) return this.#track(this.#finish(channel, item, callerLeftRefusal(left)));
    job.bounded = false;
    if (item.stored) job.consumed = item.message.id;
    job.onEnd = (reply, error) => {
      if (call !== undefined) this.#host.forwarded.end(call, job);
      this.#ended(channel, item, job, reply, error);
    };
    this.#host.accept(job);
  }

  #ended(channel: Channel, item: OutboxMessage, job: Job, reply: Reply | undefined, error: EngineError | undefined): void {
    if (this.#closed && !job.dequeued) return;
    if (error !== undefined) {
      if (job.abandoned) return this.#track(this.#finish(channel, item, callerLeftRefusal(error)));
      if (error.code === "STORE_CONFLICT" && item.stored) return this.#track(this.#disputed(channel, item));
      if (faults.isPassing(error)) return this.#again(channel, this.#host.retryMs / 2);
      const final = finalRefusal(item.message, error);
      if (final !== undefined) return this.#track(this.#finish(channel, item, final));
      // One whose work was stopped would begin the actor again, and do again what it did outside.
      const isOver = error.code === "ACTOR_STOPPED" && hasBegun(error) === true && this.#host.mayStart(item.message);
      item.failures = isOver ? DELIVERY_ATTEMPTS : item.failures + 1;
      return this.#track(this.#failed(channel, item, error));
    }
    this.#reportUnhandled(item.message, reply);
    const unanswered = askerOf(item.message) !== undefined && !job.answered;
    if (job.dequeued || (!item.stored && !unanswered)) return this.#next(channel, item);
    this.#track(this.#finish(channel, item, unanswered ? reply : undefined));
  }

  #about(message: Message): FaultContext {
    return { where: "outbox", actor: message.to, action: message.action, ...(this.#host.hasSecrets(message) && { hasSecrets: true }) };
  }

  #reportUnhandled(message: Message, reply: Reply | undefined): void {
    const error = unhandledMessage(message, reply);
    if (error !== undefined) this.#host.fault(error, this.#about(message));
  }

  /** The turn left no event that would have removed the message from the store and sent the answer. */
  async #finish(channel: Channel, item: OutboxMessage, reply: Reply | undefined): Promise<void> {
    const answer = reply && answerMessage(item.message, reply, this.#host.clock.now());
    if (item.stored && !(await this.#settle(item, "done", answer && { answer }))) return;
    if (answer) this.add([answer], item.stored);
    this.#next(channel, item);
  }

  /** A conflict: the actor was changed by another process, or the message was applied already. The store knows which. */
  async #disputed(channel: Channel, item: OutboxMessage): Promise<void> {
    let delivered = false;
    const answered = await this.#persist(async () => {
      const seen = new Set(this.#held);
      seen.delete(item.message.id);
      let known: number;
      do {
        known = seen.size;
        const left = (await this.#host.store?.undelivered(PAGE, this.#damaged, seen)) ?? [];
        for (const { message } of left) seen.add(message.id);
      } while (seen.size > known && !seen.has(item.message.id));
      delivered = !seen.has(item.message.id);
    });
    if (!answered) return;
    if (delivered) this.#next(channel, item);
    else this.#again(channel, this.#host.retryMs / 2);
  }

  async #failed(channel: Channel, item: OutboxMessage, error: EngineError): Promise<void> {
    const { message } = item;
    const about = this.#about(message);
    const repeated = faults.isReportedByTurn(error);
    if (item.failures < DELIVERY_ATTEMPTS) {
      if (!repeated) this.#host.fault(error, about);
      if (item.stored && !(await this.#settle(item, "failed"))) return;
      this.#again(channel, this.#host.retryMs * 4 ** (item.failures - 1));
      return;
    }
    const why = letterReason(error, message.to, thrownText(error.cause, about.hasSecrets === true));
    // A caller that waits for the reply must not wait forever.
    const refused = { refused: { code: error.code, message: error.message } };
    const answer = deadLetterAnswer(message, refused, this.#host.clock.now());
    if (item.stored) {
      if (!(await this.#settle(item, "dead", answer === undefined ? { why } : { why, answer }))) return;
    } else {
      const [oldest] = this.#deadLetters.keys();
      if (oldest !== undefined && this.#deadLetters.size >= MAX_LETTERS) this.#deadLetters.delete(oldest);
      this.#deadLetters.set(message.id, { message, why, at: this.#host.clock.now() });
    }
    this.#host.fault(error, { ...about, letter: message.id, ...(repeated && { repeated }) });
    if (answer) this.add([answer], item.stored);
    this.#next(channel, item);
  }

  #settle({ message }: OutboxMessage, how: Parameters<Store["settle"]>[1], more?: OutboxAck): Promise<boolean> {
    return this.#persist(() => this.#host.store?.settle(message.id, how, more));
  }

  #next(channel: Channel, { message, stored, bytes, behind }: OutboxMessage): void {
    channel.messages.shift();
    if (stored) {
      this.#held.delete(message.id);
      this.#heldBytes -= bytes;
      if (this.#reading) this.#deliveredMeanwhile.add(message.id);
    }
    channel.busy = false;
    if (channel.messages.length > 0) this.#schedule(channel);
    else this.#channels.delete(channel.key);
    if (behind !== undefined) {
      channel.behind -= behind.length;
      for (const act of behind) act();
    }
    if (this.#storeHasMore && !this.#reading && this.#hasRoom(1 / 2)) this.reread();
  }

  #again(channel: Channel, afterMs: number): void {
    if (this.#closed) return;
    const undo = this.#host.clock.after(afterMs, () => {
      this.#undos.delete(undo);
      this.#schedule(channel);
    });
    this.#undos.add(undo);
  }

  /** Retries until the store has done it. False: closed before. */
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
          this.#undos.delete(stopWaiting);
          resolve();
        });
        // `close` ends the wait.
        const stopWaiting = (): void => {
          undo();
          resolve();
        };
        this.#undos.add(stopWaiting);
      });
      if (this.#closed) return false;
    }
  }

  #track(settling: Promise<void>): void {
    const tracked = settling.finally(() => this.#settling.delete(tracked));
    this.#settling.add(tracked);
  }
}
