// Owns: calls with an idempotency key (C4): a repeated call gets the first one's reply, also while the first still runs.
// Does not own: the store's replies, which a turn's commit writes.
import { EngineError } from "../contract/index.ts";
import type { ActorId, CallOptions, Clock, Message, Remembered, Reply, Store } from "../contract/index.ts";
import { Lru, settledNow, safeCall } from "../contract/internal.ts";
import { callHash, type CallKey, faults, isCancelledReply, pendingReply, scopedKey } from "../chain/internal.ts";
import type { Cell } from "./cell.ts";
import type { Dispatcher, Place } from "./dispatcher.ts";
import { fromStore, type OnFault } from "./fault-reports.ts";
import type { CellDirectory } from "./cells.ts";
import { type DeferredReplies, Job } from "./job.ts";

/** Replies retained for each memory actor: a caller that always uses new keys must not fill the memory. */
const MAX_REMEMBERED = 1_000;
/** Those retained of all memory actors that have stopped. */
const MAX_OF_STOPPED = 10_000;

export interface IdempotencyHost {
  readonly clock: Clock;
  readonly store: Store | undefined;
  readonly deferred: DeferredReplies;
  readonly cells: Pick<CellDirectory, "reachedBy" | "redactedArgs">;
  readonly dispatcher: Pick<Dispatcher, "submit" | "reserve" | "leave">;
  readonly fault: OnFault;
}

/** The first call under a key, and all callers that wait for it. */
interface FirstCall {
  readonly call: string;
  readonly reply: Promise<Reply>;
  readonly abort: AbortController;
  readonly callers: Set<Caller>;
}

type Caller = Pick<CallOptions, "signal" | "onProgress" | "onLog">;

export class IdempotencyCache {
  readonly #host: IdempotencyHost;
  readonly #running = new Map<string, FirstCall>();
  readonly #memory = new Map<ActorId, Map<string, Remembered>>();
  /** By actor and key. A call that stops its actor may be repeated, too, and must not start another life. */
  readonly #ofStopped = new Lru<string, Remembered>(MAX_OF_STOPPED);

  constructor(host: IdempotencyHost) {
    this.#host = host;
  }

  call(message: Message, key: string, options: CallOptions): Promise<Reply> {
    let named: CallKey;
    try {
      // Without secrets, which could be guessed from a stored hash.
      const args = this.#host.cells.redactedArgs(message);
      named = { key: scopedKey(message.viewer, message.from, key), call: callHash(message.action, args) };
    } catch (error) {
      return Promise.reject(faults.fromStore(error));
    }
    return this.#call(message, named, options);
  }

  #call(message: Message, named: CallKey, options: CallOptions): Promise<Reply> {
    const { key: scoped, call } = named;
    const place = placeOf(message.to, scoped);
    let first = this.#running.get(place);
    // All callers of the running call have cancelled. Once it has ended, a committed reply is found, and a cancelled call starts anew.
    if (first?.abort.signal.aborted) {
      const again = (): Promise<Reply> => this.#call(message, named, options);
      return first.reply.then(again, (error: unknown) => (isCancelled(error) ? again() : Promise.reject(error)));
    }
    if (first !== undefined && first.call !== call) return Promise.reject(faults.keyReused(message.to));
    const caller = { ...options };
    if (first === undefined) {
      const abort = new AbortController();
      const callers = new Set<Caller>([caller]);
      const reply = this.#run(message, named, this.#fanOut(callers, message, options), abort.signal).finally(() =>
        this.#running.delete(place),
      );
      // Once all callers have cancelled, a rejection would be unhandled.
      reply.catch(() => undefined);
      first = { call, reply, abort, callers };
      this.#running.set(place, first);
    }
    return this.#join(first, message, caller);
  }

  /** Sends progress and logs to all callers: the connection of the first may be broken without having been closed. */
  #fanOut(callers: ReadonlySet<Caller>, message: Message, options: CallOptions): CallOptions {
    const { to, action } = message;
    const fault = (error: unknown): void => this.#host.fault(error, { where: "progress", actor: to, action });
    const notify = (how: (caller: Caller) => unknown): void => {
      for (const caller of callers) safeCall(() => how(caller), fault);
    };
    return {
      ...options,
      onProgress: (...step) => notify(({ onProgress }) => onProgress?.(...step)),
      onLog: (...line) => notify(({ onLog }) => onLog?.(...line)),
    };
  }

  remember(id: ActorId, replies: readonly Remembered[]): void {
    const known = this.#memory.get(id) ?? new Map<string, Remembered>();
    this.#memory.set(id, known);
    const now = settledNow(this.#host.clock);
    for (const remembered of replies) known.set(remembered.key, remembered);
    for (const [key, { until }] of known) {
      if (until > now && known.size <= MAX_REMEMBERED) break;
      known.delete(key);
    }
  }

  /** A memory actor has stopped. */
  stopped(id: ActorId): void {
    for (const [key, remembered] of this.#memory.get(id) ?? []) this.#ofStopped.set(placeOf(id, key), remembered);
    this.#memory.delete(id);
  }

  /** Each caller may cancel for itself; the last one cancels the call, unless that is being committed. */
  async #join(first: FirstCall, message: Message, caller: Caller): Promise<Reply> {
    const { signal } = caller;
    const { clock } = this.#host;
    const { to, deadline } = message;
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<EngineError>();
    const onAbort = (): void => cancel(faults.cancelled(to));
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    const stopClock =
      deadline === undefined ? undefined : clock.after(Math.max(0, deadline - clock.now()), () => cancel(faults.deadline(to)));
    first.callers.add(caller);
    try {
      const outcome = await Promise.race([first.reply, cancelled]);
      if (!(outcome instanceof Error)) return outcome;
      if (first.callers.size > 1) throw outcome;
      first.abort.abort(outcome);
      return await first.reply.catch((error: unknown) => Promise.reject(endedBy(outcome, to, error)));
    } finally {
      first.callers.delete(caller);
      signal?.removeEventListener("abort", onAbort);
      stopClock?.();
    }
  }

  async #run(message: Message, named: CallKey, options: CallOptions, signal: AbortSignal): Promise<Reply> {
    const { dispatcher } = this.#host;
    const { key: scoped } = named;
    // Of an actor in memory. Before its cell is looked up, which would make one for an actor that has stopped.
    const inMemory = this.#remembered(message.to, scoped);
    if (inMemory !== undefined) return firstReply(message.to, inMemory, named);
    const cell = this.#host.cells.reachedBy(message);
    const job = new Job(message, options);
    job.key = named;
    if (cell === undefined) dispatcher.submit(job, signal);
    else {
      const place = dispatcher.reserve(cell);
      try {
        const earlier = await this.#earlier(cell, message, named, place, options, signal);
        if (earlier !== undefined) return earlier;
        dispatcher.submit(job, signal, place);
      } finally {
        dispatcher.leave(place);
      }
    }
    return job.promise();
  }

  /** The reply to a call that was made before under that key; undefined: there was none. Leaves the place before it waits for a turn. */
  async #earlier(
    cell: Cell,
    message: Message,
    named: CallKey,
    place: Place,
    options: CallOptions,
    signal: AbortSignal,
  ): Promise<Reply | undefined> {
    const { store, dispatcher } = this.#host;
    const { key: scoped } = named;
    for (;;) {
      // A loop, since the cell may start to load again during the await.
      while (cell.loading !== undefined) await cell.loading;
      if (cell.lost) throw cell.lost;
      // Synchronous from here to `#waitFor`, so that a deferred reply cannot be sent in between.
      const { pending } = cell.actor.extra;
      const due = Object.keys(pending).find((id) => pendingReply(pending[id]).key === scoped);
      if (due !== undefined) {
        refuseOther(message.to, pendingReply(pending[due]).call, named);
        dispatcher.leave(place);
        const reply = await this.#waitFor(due, new Job(message, options), signal);
        // Its caller left and this one did not: the call is made again.
        if (isCancelledReply(reply)) continue;
        return reply;
      }
      // The turn that replies to this key has run and its commit is pending: wait for it, then look again.
      const committing = cell.uncommitted?.replyTo(scoped);
      if (committing === undefined) break;
      dispatcher.leave(place);
      await committing;
    }
    const known = cell.actor.memory ? this.#remembered(message.to, scoped) : await fromStore(store?.remembered(message.to, scoped));
    return known && firstReply(message.to, known, named);
  }

  /** The first call's reply is deferred, and will be this job's reply too. The first call may have been made in an earlier process. */
  #waitFor(messageId: string, job: Job, signal: AbortSignal): Promise<Reply> {
    const { deferred } = this.#host;
    deferred.add(messageId, job);
    const cancel = (): void => deferred.leave(messageId, job, faults.cancelled);
    signal.addEventListener("abort", cancel, { once: true });
    job.cancellation = { clear: () => signal.removeEventListener("abort", cancel) };
    return job.promise();
  }

  #remembered(id: ActorId, scoped: string): Remembered | undefined {
    const known = this.#memory.get(id)?.get(scoped) ?? this.#ofStopped.get(placeOf(id, scoped));
    return known !== undefined && known.until > settledNow(this.#host.clock) ? known : undefined;
  }
}

const placeOf = (id: ActorId, scoped: string): string => `${id}\n${scoped}`;

/** A key identifies one call: the caller of another would mistake its reply for its own. */
function refuseOther(id: ActorId, first: string | undefined, { call }: CallKey): void {
  if (first !== undefined && first !== "" && first !== call) throw faults.keyReused(id);
}

function firstReply(id: ActorId, { call, reply }: Pick<Remembered, "call" | "reply">, named: CallKey): Reply {
  refuseOther(id, call, named);
  return reply;
}

/** The error of the last caller, whose leaving aborted the call: one whose deadline has passed did not leave by itself. */
function endedBy(why: EngineError, to: ActorId, error: unknown): unknown {
  const isOverdue = why.code === "DEADLINE" && error instanceof EngineError && error.code === "CANCELLED";
  return isOverdue ? faults.deadline(to, error.applied === true) : error;
}

const isCancelled = (error: unknown): boolean => error instanceof EngineError && (error.code === "CANCELLED" || error.code === "DEADLINE");
