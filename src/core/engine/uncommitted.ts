// Owns: the turns of one actor that the store has not committed yet, in order (C2).
// Does not own: what happens once they are committed or lost (cell.ts).
import { faults, type Plan } from "../chain/internal.ts";
import type { ActorId, EngineError, Entry, Message, Snapshot, Store } from "../contract/index.ts";
import type { CommitCallbacks } from "../contract/internal.ts";
import { storedSnapshot } from "./actor-state.ts";
import type { Job } from "./job.ts";
import type { Ancestors } from "./children.ts";

/** Waits for a commit: for example a reply that is based on uncommitted state, which is sent or dropped with it. */
export interface CommitWaiter {
  readonly committed: () => void;
  readonly dropped: (error: EngineError) => void;
}

/** A turn stops its actor: the message that is stored until its children have stopped too. */
interface Stopping {
  readonly message: Message;
  readonly ancestors: Ancestors;
}

/** A turn that was handed to the store. */
export class PendingCommit implements CommitCallbacks {
  readonly #owner: { onStoreAnswer(pending: PendingCommit): void };
  readonly job: Job;
  readonly plan: Plan;
  readonly entry: Entry;
  readonly stopping: Stopping | undefined;
  /** The rows whose watchers are notified. Absent from `entry` if the store has to compute the rows again. */
  readonly indexed: Entry["indexed"];
  waiters: CommitWaiter[] | undefined;
  outcome: "pending" | "committed" | "lost" = "pending";
  error: unknown;

  constructor(
    owner: { onStoreAnswer(pending: PendingCommit): void },
    job: Job,
    plan: Plan,
    entry: Entry,
    stopping: Stopping | undefined,
    indexed: Entry["indexed"],
  ) {
    this.#owner = owner;
    this.job = job;
    this.plan = plan;
    this.entry = entry;
    this.stopping = stopping;
    this.indexed = indexed;
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

/** C2: turns are committed in order, from the front; if one is lost, it and all after it are dropped together. */
export class UncommittedTurns {
  #durable: Snapshot;
  /** The newest committed turn, until `#durable` is computed from it. */
  #newest: PendingCommit | undefined;
  #turns: PendingCommit[] = [];
  #whenEmpty: (() => void)[] = [];
  /** One of them is lost. */
  failed = false;

  constructor(durable: Snapshot) {
    this.#durable = durable;
  }

  /** The state that readers see meanwhile (law 2); computed on demand. */
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

  /** The store has answered for each turn. */
  get allAnswered(): boolean {
    return this.#turns.every(({ outcome }) => outcome !== "pending");
  }

  add(turn: PendingCommit): void {
    this.#turns.push(turn);
  }

  /** The oldest turn, once it is committed. Readers see it from now on; it stays in the list until `shift`. */
  firstCommitted(): PendingCommit | undefined {
    const first = this.#turns[0];
    if (first?.outcome !== "committed") return undefined;
    return (this.#newest = first);
  }

  shift(): void {
    this.#turns.shift();
  }

  /** Removes all turns, and returns them in order. */
  drop(): readonly PendingCommit[] {
    const dropped = this.#turns;
    this.#turns = [];
    return dropped;
  }

  waitForLast(waiter: CommitWaiter): void {
    this.#turns.at(-1)?.wait(waiter);
  }

  /** Settles when the turn that replies to a call with this key is committed or dropped; undefined: there is none. */
  replyTo(key: string): Promise<void> | undefined {
    const turn = this.#turns.find(({ plan }) => plan.remembered.some((remembered) => remembered.key === key));
    return turn && new Promise((resolve) => turn.wait({ committed: resolve, dropped: () => resolve() }));
  }

  /** Settles when all present turns are committed or dropped. */
  whenEmpty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#turns.length === 0) resolve();
      else this.#whenEmpty.push(resolve);
    });
  }

  /** Resolves the promises of `whenEmpty`, if it is empty. */
  settleIfEmpty(): void {
    if (this.#turns.length > 0 || this.#whenEmpty.length === 0) return;
    const waiting = this.#whenEmpty;
    this.#whenEmpty = [];
    for (const resolve of waiting) resolve();
  }
}

/**
 * C2: fails the callers of dropped turns, in order; `committed` is called for a turn that was stored in spite of the error. If it is
 * unknown whether a turn was stored, only the store knows its messages and timers: they are read before anything else is committed (C5).
 */
export async function failDropped(
  id: ActorId,
  { store, rereadStore }: { readonly store: Store | undefined; readonly rereadStore: () => void },
  dropped: readonly PendingCommit[],
  committed: (turn: PendingCommit) => void,
): Promise<void> {
  let first: unknown;
  for (const turn of dropped) {
    const stored = await isStored(store, turn);
    if (stored === true) {
      committed(turn);
      continue;
    }
    if (stored === "unknown") rereadStore();
    const { error } = turn;
    turn.job.fail(
      stored === "unknown"
        ? faults.outcomeUnknown(id, error)
        : first === undefined
          ? faults.fromStore(error)
          : faults.notApplied(id, first),
    );
    first ??= error;
    for (const waiter of turn.waiters ?? []) waiter.dropped(faults.notApplied(id, error));
  }
}

/** A store that failed with an error of unknown origin may have stored the entry. */
async function isStored(store: Store | undefined, { outcome, error, entry }: PendingCommit): Promise<boolean | "unknown"> {
  if (outcome === "committed") return true;
  if (faults.isCertainlyNotStored(error)) return false;
  try {
    return (await store?.event(entry.event.id)) !== undefined;
  } catch {
    return "unknown";
  }
}
