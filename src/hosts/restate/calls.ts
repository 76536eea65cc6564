/**
 * Calls of actors through the server's ingress.
 *
 * C2: a reply is the outcome of an invocation the server has made durable.
 * C4: a call is one invocation however often it is sent: it is sent again until its outcome is known.
 */
import { callHash, faults, isCancelledReply, scopedKey, type CallKey } from "../../core/chain/internal.ts";
import {
  EngineError,
  type ActorId,
  type CallOptions,
  type CancelSignal,
  type Change,
  type Clock,
  type Json,
  type Message,
  type Reply,
} from "../../core/contract/index.ts";
import { hasOwn, MultiMap, safeCall } from "../../core/contract/internal.ts";
import type { InnerCall } from "./durable-work.ts";
import type { StopInput, TurnInput } from "./handler-inputs.ts";
import { type Ingress, wait, retryPauses, unexpectedAnswer } from "./ingress.ts";
import type { WaitingCallers } from "./waiting-callers.ts";
import type { Names } from "./names.ts";
import { errorFrom, isOutcome, type Outcome } from "./outcome.ts";

export interface CallsHost {
  readonly names: Names;
  readonly ingress: Ingress;
  /** By which actors live. */
  readonly clock: Clock;
  /** By which the network is asked again. */
  readonly patience: Clock;
  /** This node, where there are others. */
  node(): string | undefined;
  seal(message: Message, input: TurnInput): unknown;
  /** The arguments without what is secret. */
  redactedArgs(message: Message): Json;
  announce(change: Change): void | Promise<void>;
  readonly waitingCallers: WaitingCallers;
  /** A call's only caller here has left; its reply is not known yet. */
  callerLeft(messageId: string): void;
  fault(error: unknown, actor: ActorId): void;
}

interface CallExtras extends Pick<TurnInput, "waiting"> {
  readonly idempotencyKey: string;
}

/** Another call, since the server has the outcome of the first. */
const repeated = (message: Message): Message => ({ ...message, id: `${message.id}.again` });

const NO_CALLERS: ReadonlySet<CallOptions> = new Set();

export class Calls {
  readonly #host: CallsHost;
  /** Callers of this node, by the message they wait for. */
  readonly #waiting = new MultiMap<string, CallOptions>();

  constructor(host: CallsHost) {
    this.#host = host;
  }

  get size(): number {
    return this.#waiting.size;
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
        // The caller of the first call left and this one did not: the call is made again.
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

  /** A repeated keyed call waits for its first, of which it hears too. */
  async #wait({ id, to, deadline }: Message, of: string, options: CallOptions): Promise<Reply> {
    // A repeated call does not end the first one, whose caller may wait at another node. This caller is still among those that wait.
    const onLeft = (): void => {
      if (of === id && this.callers(of).size <= 1) this.#host.callerLeft(of);
    };
    this.#waiting.put(of, options);
    try {
      return await this.#host.waitingCallers.wait(to, of, deadline, options, onLeft);
    } finally {
      this.#waiting.take(of, options);
    }
  }

  #receipt({ onReceipt }: CallOptions, actor: ActorId, { seq, head }: Pick<Change, "seq" | "head">): void {
    safeCall(
      () => onReceipt?.({ actor, seq, head }),
      (error) => this.#host.fault(error, actor),
    );
  }

  #callKey(message: Message, key: string): CallKey {
    return { key: scopedKey(message.viewer, message.from, key), call: callHash(message.action, this.#host.redactedArgs(message)) };
  }

  /** A caller may leave, or its time be over: the invocation is taken back, unless it has been applied already. */
  async #run(message: Message, input: TurnInput, idempotencyKey: string, signal: CancelSignal | undefined): Promise<Outcome> {
    const { ingress, names, clock } = this.#host;
    const { to, deadline } = message;
    const invocation = { ...names.actor(to, "turn"), input: this.#host.seal(message, input), idempotencyKey };
    let cancelledBy: EngineError | undefined;
    const cancelInvocation = (why: EngineError): void => {
      if (cancelledBy !== undefined) return;
      cancelledBy = why;
      // Sent once more, it is the same invocation, whose name comes back at once.
      ingress
        .begin(invocation)
        .then((name) => this.cancel(name))
        .catch((error: unknown) => this.#host.fault(error, to));
    };
    const left = (): void => cancelInvocation(faults.cancelled(to));
    signal?.addEventListener("abort", left, { once: true });
    const undo =
      deadline === undefined ? undefined : clock.after(Math.max(0, deadline - clock.now()), () => cancelInvocation(faults.deadline(to)));
    try {
      const outcome = await ingress.invoke(invocation);
      if (!isOutcome(outcome)) throw unexpectedAnswer(invocation);
      if (!hasOwn(outcome, "fault") || outcome.fault.code !== "CANCELLED") return outcome;
      throw cancelledBy ?? faults.stopped(to);
    } catch (error) {
      const cancelled = error instanceof EngineError && error.code === "CANCELLED";
      throw cancelled ? (cancelledBy ?? faults.stopped(to)) : error;
    } finally {
      signal?.removeEventListener("abort", left);
      undo?.();
    }
  }

  async cancel(invocation: string): Promise<void> {
    const { ingress, names } = this.#host;
    await ingress.begin({ object: names.control, handler: "cancel", input: invocation });
  }

  /** Aborts what runs, then ends the actor. */
  async end(message: Message, reason: string): Promise<void> {
    const { ingress, names } = this.#host;
    const input: StopInput = { message, reason, above: [] };
    const ending = ingress.invoke({ ...names.actor(message.to, "stop"), input, idempotencyKey: message.id });
    await Promise.all([this.#ended(message.to, ending), this.#abortUntil(ending, message.to)]);
  }

  /** Work that has only just begun is not known yet, and whoever waits behind it would wait for all of it: asked again until then. */
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

  /** Whatever work the actor is at. */
  async abort(id: ActorId): Promise<void> {
    const { ingress, names } = this.#host;
    try {
      const working = await ingress.invoke({ ...names.actor(id, "working"), input: null });
      if (typeof working === "string") await this.cancel(working);
    } catch (error) {
      // Then it has its time.
      this.#host.fault(error, id);
    }
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
   * Actors whose work waits for each other would wait until their time is over. `run` differs whenever the work runs: what it calls is then
   * another invocation, since the first one may have been withdrawn, or was for another call. The actor knows a repeated call by its key.
   */
  inner(call: InnerCall, message: Message, { key, run }: { readonly key: string; readonly run: string }): Promise<Reply> {
    const { waiting, signal, work } = call;
    if (waiting.includes(message.to)) return Promise.reject(faults.cycle(work.to, message.to));
    return this.#call(message, { key, signal }, { waiting, idempotencyKey: `${message.id}.${run}` });
  }
}
