import type { ActorId, Clock, Message, Outgoing, Remembered, Reply, Store, Watchers } from "../contract/index.ts";
import type { CommitWithCallback } from "../contract/internal.ts";
import type { Cell } from "./cell.ts";
import type { Family } from "./family.ts";
import type { Job } from "./job.ts";
import type { Laters } from "./laters.ts";
import type { Waits } from "./waits.ts";

/** Where a fault was noticed that no caller can be told of in full. */
export interface FaultContext {
  readonly where: "turn" | "work" | "load" | "watcher" | "receipt" | "progress" | "store" | "outbox" | "wake" | "idle";
  readonly actor?: ActorId;
  readonly action?: string;
  /** The message that is a dead letter from now on, by its id. */
  readonly letter?: string;
}

/** A turn that blocked the event loop for more than 100 ms. */
export interface SlowTurn {
  readonly actor: ActorId;
  readonly action: string;
  readonly ms: number;
}

/** What a cell needs of the engine around it. */
export interface Host {
  readonly clock: Clock;
  readonly store: Store | undefined;
  /** Its way for turns. */
  readonly handOver: CommitWithCallback | undefined;
  /** How long a keyed reply is remembered. */
  readonly keyMs: number;
  readonly watchers: Watchers;
  readonly laters: Laters;
  readonly waits: Waits;
  /** Whoever comes to rest is waited for. */
  readonly draining: boolean;
  /** From work: a call whose id follows from the work's message; where the work may run again, its reply is found again. */
  callFrom(work: Job, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply>;
  /** Messages that left with a commit; `kept`: the store has them too. */
  deliver(messages: readonly Message[], kept: boolean): void;
  /** A write failed and may have been kept: messages and wakes that nobody here knows of are read from the store, in its order. */
  readonly unsure: () => void;
  /** What a turn of `parent` asked for: a child of it that has failed is tried again. */
  restart(child: ActorId, parent: ActorId): void;
  /** The actor's wakes or its expiry are others now. */
  timed(cell: Cell): void;
  readonly family: Pick<Family, "stopChildren" | "leave" | "senderLives" | "whenSure">;
  /** A memory actor has begun. */
  began(cell: Cell): void;
  /** A memory actor has ended: once for each beginning. */
  ended(cell: Cell): void;
  /** Nothing waits in the cell, and it is not an ordinary live one. */
  rest(cell: Cell): void;
  forget(cell: Cell): void;
  /** Of a memory actor (C4). */
  remember(id: ActorId, replies: readonly Remembered[]): void;
  fault(error: unknown, context: FaultContext): void;
  slow(turn: SlowTurn): void;
  /** Of whoever is told of a commit: a function for all, since every call has one. */
  readonly receiptFault: (error: unknown, receipt: { readonly actor: ActorId }) => void;
}
