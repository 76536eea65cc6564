// Owns: what a cell may ask of the engine around it, as one small interface. local.ts implements it.
import type { ActorId, Clock, Message, Outgoing, Remembered, Reply, Store, Watchers } from "../contract/index.ts";
import type { CommitWithCallback } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import type { OnFault, SlowTurn } from "./faults.ts";
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
  /** A failed write may have been stored: messages and timers that only the store knows are read from it, in its order. */
  readonly rereadStore: () => void;
  /** A turn of `parent` asks for this: a child of it that has failed is tried again. */
  restart(child: ActorId, parent: ActorId): void;
  /** The actor's timers or its expiry have changed. */
  timersChanged(cell: Cell): void;
  /** A memory actor has started. */
  started(cell: Cell): void;
  /** A memory actor has stopped: once for each start. */
  stopped(cell: Cell): void;
  /** Nothing runs or waits in a cell that is not live, or in any cell while draining. */
  idle(cell: Cell): void;
  /** Another cell shall stand for the actor. */
  forget(cell: Cell): void;
  /** Replies of a memory actor (C4). */
  remember(id: ActorId, replies: readonly Remembered[]): void;
  readonly fault: OnFault;
  slow(turn: SlowTurn): void;
  /** A caller's `onReceipt` threw. One function for all, since every call may have one. */
  readonly receiptFault: (error: unknown, receipt: { readonly actor: ActorId }) => void;
}
