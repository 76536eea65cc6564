// Owns: the turns of one actor that the store has not made durable yet, in order.
// Does not own: what happens once they are committed, or lost (cell.ts).
import { faults, type Plan } from "../chain/internal.ts";
import type { ActorId, EngineError, Entry, Message, Snapshot, Store } from "../contract/index.ts";
import type { CommitCallbacks } from "../contract/internal.ts";
import { storedSnapshot } from "./actor-state.ts";
import type { Job } from "./job.ts";

/** Waits for a commit: a reply that saw uncommitted state, say, is sent or dropped with it. */
export interface CommitWaiter {
  readonly committed: () => void;
  readonly dropped: (error: EngineError) => void;
}

/** A turn stops its actor: what the store keeps until the children have stopped too, and who is stopping already. */
interface Stopping {
  readonly message: Message;
  readonly ancestors: ReadonlySet<ActorId>;
}

interface CommitOwner {
  onStoreAnswer(pending: PendingCommit): void;
}

/** A turn that was handed to the store. */
export class PendingCommit implements CommitCallbacks {
  readonly #owner: CommitOwner;
  readonly job: Job;
  readonly plan: Plan;
  readonly entry: Entry;
  readonly stopping: Stopping | undefined;
  waiters: CommitWaiter[] | undefined;
  outcome: "pending" | "committed" | "lost" = "pending";
  error: unknown;

  constructor(owner: CommitOwner, job: Job, plan: Plan, entry: Entry, stopping: Stopping | undefined) {
    this.#owner = owner;
    this.job = job;
    this.plan = plan;
    this.entry = entry;
    this.stopping = stopping;
  }

  wait(waiter: CommitWaiter): void {
    (this.waiters ??= []).push(waiter);
  }

  onCommitted(): void {
    this.outcome = "committed";
    this.#owner.onStoreAnswer(this);
  }

  onFailed(error: unknown): void {
    this.outcome = "lost";
    this.error = error;
    this.#owner.onStoreAnswer(this);
  }
}

/** C2: turns are committed from the front, in order; once one is lost, it and all behind it are dropped together. */
export class UncommittedTurns {
  #durable: Snapshot;
  /** The last that was committed, while `#durable` is not made of it yet. */
  #newest: PendingCommit | undefined;
  #turns: PendingCommit[] = [];
  #whenEmpty: (() => void)[] = [];
  /** One of them is lost. */
  failed = false;

  constructor(durable: Snapshot) {
    this.#durable = durable;
  }

  /** What readers see meanwhile (law 2); made when somebody reads. */
  get durable(): Snapshot {
    if (this.#newest !== undefined) {
      const { plan, entry } = this.#newest;
      this.#durable = storedSnapshot(plan.id, { row: entry.row, seq: entry.seq, head: entry.event.id }, plan.state);
      this.#newest = undefined;
    }
    return this.#durable;
  }

  get length(): number {
    return this.#turns.length;
  }

  /** The store has answered for each, committed or not. */
  get allAnswered(): boolean {
    return this.#turns.every(({ outcome }) => outcome !== "pending");
  }

  add(turn: PendingCommit): void {
    this.#turns.push(turn);
  }

  /** The oldest, once it is committed. Readers see it from now on; it stays here until `shift`. */
  firstCommitted(): PendingCommit | undefined {
    const first = this.#turns[0];
    if (first?.outcome !== "committed") return undefined;
    return (this.#newest = first);
  }

  shift(): void {
    this.#turns.shift();
  }

  /** Takes out all that is left, in order. */
  drop(): readonly PendingCommit[] {
    const dropped = this.#turns;
    this.#turns = [];
    return dropped;
  }

  waitForLast(waiter: CommitWaiter): void {
    this.#turns.at(-1)?.wait(waiter);
  }

  /** Settles when the turn that replies to this key is committed or dropped; undefined: there is none. */
  replyTo(key: string): Promise<void> | undefined {
    const turn = this.#turns.find(({ plan }) => plan.remembered.some((remembered) => remembered.key === key));
    return turn && new Promise((resolve) => turn.wait({ committed: resolve, dropped: () => resolve() }));
  }

  /** Settles when the store has answered for all of them. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#turns.length === 0) resolve();
      else this.#whenEmpty.push(resolve);
    });
  }

  /** Settles what waits for that, if it is so. */
  settleIfEmpty(): void {
    if (this.#turns.length > 0 || this.#whenEmpty.length === 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }
}

/**
 * C2: fails the callers of dropped turns, in order; a turn that the store kept all the same is `committed`. Where the store may
 * have kept one, only it knows what that sent and which timers it set: `rereadStore` comes before anything later is committed (C5).
 */
export async function failDropped(
  id: ActorId,
  { store, rereadStore }: { readonly store: Store | undefined; readonly rereadStore: () => void },
  dropped: readonly PendingCommit[],
  committed: (turn: PendingCommit) => void,
): Promise<void> {
  let first: unknown;
  for (const turn of dropped) {
    const kept = await isStored(store, turn);
    if (kept === true) {
      committed(turn);
      continue;
    }
    if (kept === "unknown") rereadStore();
    const { error } = turn;
    turn.job.fail(
      kept === "unknown" ? faults.outcomeUnknown(id, error) : first === undefined ? faults.fromStore(error) : faults.notApplied(id, first),
    );
    first ??= error;
    for (const waiter of turn.waiters ?? []) waiter.dropped(faults.notApplied(id, error));
  }
}

/** A store that fails with an error of unknown origin may have stored the entry all the same. */
async function isStored(store: Store | undefined, { outcome, error, entry }: PendingCommit): Promise<boolean | "unknown"> {
  if (outcome === "committed") return true;
  if (faults.saysNothingKept(error)) return false;
  try {
    return (await store?.event(entry.event.id)) !== undefined;
  } catch {
    return "unknown";
  }
}
