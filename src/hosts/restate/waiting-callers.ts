// Owns: callers that wait for deferred replies. Does not own: the replies, which the actor stores (stored-actor.ts).
import { faults } from "../../core/chain/internal.ts";
import { EngineError, type ActorId, type CancelSignal, type Clock } from "../../core/contract/index.ts";
import type { StoredReply } from "./stored-actor.ts";
import { deferredReplyKey } from "./turn-writes.ts";

/** What an actor answers about a deferred reply. */
export interface ReplyState {
  readonly reply: StoredReply | undefined;
  readonly pending: boolean;
}

export interface WaitingCallersHost {
  /** The clock of actors. */
  readonly clock: Clock;
  /** The clock of network retries. */
  readonly patience: Clock;
  replyState(id: ActorId, key: string): Promise<ReplyState>;
  /** Calls the listener when the actor has changed. Returns its undo. */
  watch(id: ActorId, listener: () => void): () => void;
}

interface WaitingCaller {
  readonly deadline: number | undefined;
  readonly signal: CancelSignal | undefined;
  /** Runs when the caller leaves. */
  readonly onLeft: () => void;
}

/** Without a notification the actor is read after these pauses, which grow. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 5_000;

export class WaitingCallers {
  readonly #host: WaitingCallersHost;
  readonly #rejects = new Set<(error: EngineError) => void>();

  constructor(host: WaitingCallersHost) {
    this.#host = host;
  }

  /** If the caller leaves, or its deadline passes, the error says that the call was applied. */
  async wait(to: ActorId, messageId: string, { deadline, signal, onLeft }: WaitingCaller): Promise<StoredReply> {
    const { clock, patience } = this.#host;
    const end = Promise.withResolvers<never>();
    end.promise.catch(() => undefined);
    let woken = Promise.withResolvers<void>();
    const leave = (): void => {
      end.reject(faults.cancelled(to, true));
      onLeft();
    };
    if (signal?.aborted) leave();
    signal?.addEventListener("abort", leave, { once: true });
    const undos = [
      this.#host.watch(to, () => woken.resolve()),
      deadline === undefined
        ? () => undefined
        : clock.after(Math.max(0, deadline - clock.now()), () => end.reject(faults.deadline(to, true))),
    ];
    this.#rejects.add(end.reject);
    try {
      for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        const { reply, pending } = await Promise.race([this.#host.replyState(to, deferredReplyKey(messageId)), end.promise]);
        if (reply !== undefined) return reply;
        if (!pending) throw replyExpired(to);
        const undo = patience.after(pauseMs, () => woken.resolve());
        await Promise.race([woken.promise, end.promise]).finally(undo);
        woken = Promise.withResolvers();
      }
    } finally {
      this.#rejects.delete(end.reject);
      signal?.removeEventListener("abort", leave);
      for (const undo of undos) undo();
    }
  }

  close(): void {
    for (const end of this.#rejects) end(faults.draining(true));
  }
}

const replyExpired = (id: ActorId): EngineError =>
  new EngineError("OUTCOME_UNKNOWN", `${id} has answered, and no longer keeps what: read it to learn what became of the call.`, {
    applied: true,
  });
