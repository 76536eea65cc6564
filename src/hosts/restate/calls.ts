// Owns: calls of actors through the server's ingress. Does not own: retries of requests (ingress.ts), waiting for deferred replies
// (waiting-callers.ts).
//
// C2: a reply is the outcome of an invocation that the server has made durable. C4: a call is one invocation however often it is sent,
// and it is sent until its outcome is known.
import { callHash, faults, isCancelledReply, scopedKey, type CallKey } from "../../core/chain/internal.ts";
import {
  EngineError,
  type ActorId,
  type CallOptions,
  type CancelSignal,
  type Change,
  type Json,
  type Message,
  type Reply,
} from "../../core/contract/index.ts";
import { hasOwn, MultiMap, safeCall } from "../../core/contract/internal.ts";
import type { InnerCall } from "./durable-work.ts";
import type { ExpireInput, StopInput, TurnInput } from "./handler-inputs.ts";
import { type Ingress, wait, retryPauses, unexpectedAnswer } from "./ingress.ts";
import { WaitingCallers, type WaitingCallersHost } from "./waiting-callers.ts";
import type { Names } from "./names.ts";
import { errorFrom, isOutcome, type Outcome } from "./outcome.ts";

export interface CallsHost extends WaitingCallersHost {
  readonly names: Names;
  readonly ingress: Ingress;
  /** The name of this node, if there are other nodes. */
  node(): string | undefined;
  seal(message: Message, input: TurnInput): unknown;
  /** The arguments without secrets. */
  redactedArgs(message: Message): Json;
  announce(change: Change): void | Promise<void>;
  /** The only caller of a call at this node has left, and the reply is not known yet. */
  callerLeft(messageId: string): void;
  fault(error: unknown, where: "network" | "receipt", actor: ActorId): void;
}

interface CallExtras extends Pick<TurnInput, "waiting"> {
  readonly idempotencyKey: string;
}

/** A call with another id, since the server stores the outcome of the first. */
const repeated = (message: Message): Message => ({ ...message, id: `${message.id}.again` });

const NO_CALLERS: ReadonlySet<CallOptions> = new Set();

export class Calls {
  readonly #host: CallsHost;
  /** Callers of this node, by the message for which they wait. */
  readonly #waiting = new MultiMap<string, CallOptions>();
  /** Those of them whose reply is deferred. */
  readonly #deferred: WaitingCallers;

  constructor(host: CallsHost) {
    this.#host = host;
    this.#deferred = new WaitingCallers(host);
  }

  /** Callers that wait for a deferred reply get an error. */
  close(): void {
    this.#deferred.close();
  }

  callers(messageId: string): ReadonlySet<CallOptions> {
    return this.#waiting.get(messageId) ?? NO_CALLERS;
  }

  call(message: Message, options: CallOptions): Promise<Reply> {
    return this.#call(message, options, { idempotencyKey: message.id });
  }

  async #call(message: Message, options: CallOptions, { idempotencyKey, ...extras }: CallExtras): Promise<Reply> {
    const { key, signal } = options;
    if (signal?.aborted) throw faults.cancelled(message.to);
    const callKey = key === undefined ? undefined : this.#callKey(message, key);
    const node = this.#host.node();
    const input: TurnInput = {
      message,
      ...(callKey === undefined ? {} : { key: callKey }),
      ...(node === undefined || (options.onProgress === undefined && options.onLog === undefined) ? {} : { node }),
      ...extras,
    };
    this.#waiting.put(message.id, options);
    try {
      const outcome = await this.#run(message, input, idempotencyKey, signal);
      if (hasOwn(outcome, "fault")) throw errorFrom(outcome.fault);
      const { reply, later, change, committed } = outcome;
      if (change !== undefined) await this.#host.announce({ id: message.to, ...change });
      if (later !== undefined || reply === undefined) {
        const first = later ?? message.id;
        const settled = await this.#wait(message, first, options);
        // The caller of the first call left, and this one did not: repeat the call.
        return first !== message.id && isCancelledReply(settled)
          ? await this.#call(repeated(message), options, { ...extras, idempotencyKey: `${idempotencyKey}.again` })
          : settled;
      }
      if (committed && change !== undefined) this.#receipt(options, message.to, change);
      return reply;
    } finally {
      this.#waiting.take(message.id, options);
    }
  }

  /** A repeated keyed call waits for the first one, and gets its progress too. */
  async #wait({ id, to, deadline }: Message, of: string, options: CallOptions): Promise<Reply> {
    // A repeated call does not cancel the first one, whose caller may wait at another node. This caller is still counted.
    const onLeft = (): void => {
      if (of === id && this.callers(of).size <= 1) this.#host.callerLeft(of);
    };
    this.#waiting.put(of, options);
    try {
      const stored = await this.#deferred.wait(to, of, { deadline, signal: options.signal, onLeft });
      this.#receipt(options, to, stored);
      return stored.reply;
    } finally {
      this.#waiting.take(of, options);
    }
  }

  #receipt({ onReceipt }: CallOptions, actor: ActorId, { seq, head }: Pick<Change, "seq" | "head">): void {
    safeCall(
      () => onReceipt?.({ actor, seq, head }),
      (error) => this.#host.fault(error, "receipt", actor),
    );
  }

  #callKey(message: Message, key: string): CallKey {
    return { key: scopedKey(message.viewer, message.from, key), call: callHash(message.action, this.#host.redactedArgs(message)) };
  }

  /** If the caller leaves, or its deadline passes, the invocation is cancelled unless it was applied already. */
  async #run(message: Message, input: TurnInput, idempotencyKey: string, signal: CancelSignal | undefined): Promise<Outcome> {
    const { ingress, names, clock } = this.#host;
    const { to, deadline } = message;
    const invocation = { ...names.actor(to, "turn"), input: this.#host.seal(message, input), idempotencyKey };
    let cancelledBy: EngineError | undefined;
    const cancelInvocation = (why: EngineError): void => {
      if (cancelledBy !== undefined) return;
      cancelledBy = why;
      // Sent once more under the same key, it returns the id of the same invocation at once.
      ingress
        .begin(invocation)
        .then((name) => this.cancel(name))
        .catch((error: unknown) => this.#host.fault(error, "network", to));
    };
    const left = (): void => cancelInvocation(faults.cancelled(to));
    signal?.addEventListener("abort", left, { once: true });
    const undo =
      deadline === undefined ? undefined : clock.after(Math.max(0, deadline - clock.now()), () => cancelInvocation(faults.deadline(to)));
    try {
      const outcome = await ingress.invoke(invocation);
      if (!isOutcome(outcome)) throw unexpectedAnswer(invocation);
      if (!hasOwn(outcome, "fault") || outcome.fault.code !== "CANCELLED") return outcome;
      throw cancelledBy ?? faults.stoppedAtWork(to);
    } catch (error) {
      const cancelled = error instanceof EngineError && error.code === "CANCELLED";
      throw cancelled ? (cancelledBy ?? faults.stoppedAtWork(to)) : error;
    } finally {
      signal?.removeEventListener("abort", left);
      undo?.();
    }
  }

  async cancel(invocation: string): Promise<void> {
    const { ingress, names } = this.#host;
    await ingress.begin({ object: names.control, handler: "cancel", input: invocation });
  }

  /** Aborts what runs, then stops the actor. */
  async end(message: Message, reason: string): Promise<void> {
    const { ingress, names } = this.#host;
    const input: StopInput = { message, reason, above: [] };
    const ending = ingress.invoke({ ...names.actor(message.to, "stop"), input, idempotencyKey: message.id });
    await Promise.all([this.#ended(message.to, ending), this.#abortUntil(ending, message.to)]);
  }

  /** Work that has just started is not stored yet, and `stop` would wait for all of it. So abort repeatedly until the stop is done. */
  async #abortUntil(ended: Promise<unknown>, id: ActorId): Promise<void> {
    let over = false;
    const settled = ended.then(
      () => (over = true),
      () => (over = true),
    );
    for (const ms of retryPauses()) {
      await this.abort(id);
      await Promise.race([settled, wait(this.#host.patience, ms)]);
      if (over) return;
    }
  }

  /** Aborts the current work of the actor. */
  async abort(id: ActorId): Promise<void> {
    const { ingress, names } = this.#host;
    try {
      const working = await ingress.invoke({ ...names.actor(id, "working"), input: null });
      if (typeof working === "string") await this.cancel(working);
    } catch (error) {
      // It then runs until its time is over.
      this.#host.fault(error, "network", id);
    }
  }

  /** Settles when all that was sent to the actor before has been applied, since no exclusive handler overtakes it. This one does nothing. */
  async afterSent(id: ActorId): Promise<void> {
    const { ingress, names } = this.#host;
    const noLife: ExpireInput = { life: "" };
    await ingress.invoke({ ...names.actor(id, "expire"), input: noLife });
  }

  async restart(id: ActorId, messageId: string): Promise<void> {
    const { ingress, names } = this.#host;
    await this.abort(id);
    await this.#ended(id, ingress.invoke({ ...names.actor(id, "restart"), input: {}, idempotencyKey: messageId }));
  }

  async #ended(id: ActorId, ending: Promise<unknown>): Promise<void> {
    const outcome = await ending;
    if (!isOutcome(outcome)) throw unexpectedAnswer({ object: id });
    if (hasOwn(outcome, "fault")) throw errorFrom(outcome.fault);
    if (outcome.change !== undefined) await this.#host.announce({ id, ...outcome.change });
  }

  /**
   * Refuses a call in a cycle, which would wait until its time is over. `run` differs each time the work runs: its calls are then other
   * invocations, since the first ones may have been cancelled or differ. The actor recognises a repeated call by its key.
   */
  inner(call: InnerCall, message: Message, { key, run }: { readonly key: string; readonly run: string }): Promise<Reply> {
    const { waiting, signal, work } = call;
    if (waiting.includes(message.to)) return Promise.reject(faults.cycle(work.to, message.to));
    return this.#call(message, { key, signal }, { waiting, idempotencyKey: `${message.id}.${run}` });
  }
}
