// Owns: what the parts of the engine need from it: the operations of a cell, which local.ts implements, and how faults are reported,
// to the operator (onFault) and to callers (EngineError).
import { faults } from "../chain/internal.ts";
import type { ActorId, Clock, Damaged, Message, Outgoing, Remembered, Reply, Store, Watchers } from "../contract/index.ts";
import type { CommitWithCallback } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import type { DeferredReplies, Job } from "./job.ts";
import type { Supervision } from "./supervision.ts";
import type { WaitForGraph } from "./work.ts";

export interface CellOps {
  readonly clock: Clock;
  readonly store: Store | undefined;
  /** Hands an entry to the store; its `CommitCallbacks` learn the outcome later. */
  readonly commit: CommitWithCallback | undefined;
  /** How long a keyed reply is remembered. */
  readonly keyMs: number;
  readonly watchers: Watchers;
  readonly deferred: DeferredReplies;
  readonly waits: WaitForGraph;
  readonly supervision: Pick<Supervision, "stopChildren" | "stopChildrenOf" | "senderLives" | "whenSure">;
  /** The engine waits for all cells to become idle. */
  readonly draining: boolean;
  /** A call that work makes. Where that work may run again, the same call gets the same reply. */
  callFrom(work: Job, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply>;
  /** Messages that left with a commit; `stored`: the store has them too. */
  deliver(messages: readonly Message[], stored: boolean): void;
  /** A failed write may have been stored: messages and timers that only the store knows are read from it, in order. */
  readonly rereadStore: () => void;
  /** A turn of `parent` requests this: restarts its child if that has failed. */
  restart(child: ActorId, parent: ActorId): void;
  /** The actor's timers or its expiry have changed. */
  timersChanged(cell: Cell): void;
  /** A memory actor has started. */
  started(cell: Cell): void;
  /** A memory actor has stopped: once for each start. */
  stopped(cell: Cell): void;
  /** Nothing runs or waits in a cell that is not live, or in any cell while draining. */
  idle(cell: Cell): void;
  /** Another cell will represent the actor. */
  forget(cell: Cell): void;
  /** Replies of a memory actor (C4). */
  remember(id: ActorId, replies: readonly Remembered[]): void;
  readonly fault: OnFault;
  slow(turn: SlowTurn): void;
  /** A caller's `onReceipt` threw. One function for all calls, so that none has to allocate its own. */
  readonly receiptFault: (error: unknown, receipt: { readonly actor: ActorId }) => void;
}

/** Where a fault happened whose details no caller gets. */
export interface FaultContext {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "store" | "outbox" | "wake" | "idle";
  readonly actor?: ActorId;
  readonly action?: string;
  /** The id of the message that became a dead letter. */
  readonly letter?: string;
}

export type OnFault = (error: unknown, context: FaultContext) => void;

/** A turn that blocked the event loop for more than 100 ms. */
export interface SlowTurn {
  readonly actor: ActorId;
  readonly action: string;
  readonly ms: number;
}

/** At most this many damaged rows of one file are reported. */
const MAX_DAMAGE_REPORTS = 10_000;

/** Reports each damaged row to the operator once, however often the store reads it. */
export function damageReporter(fault: OnFault, where: FaultContext["where"]): Damaged {
  const reported = new Set<string>();
  return (error, actor) => {
    if (reported.size >= MAX_DAMAGE_REPORTS || reported.has(error.message)) return;
    reported.add(error.message);
    fault(error, actor === undefined ? { where } : { where, actor });
  };
}

/** Awaits a store's answer. Throws only `EngineError`. */
export async function fromStore<T>(answer: Promise<T>): Promise<T>;
export async function fromStore<T>(answer: Promise<T> | undefined): Promise<T | undefined>;
export async function fromStore<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    throw faults.fromStore(error);
  }
}
