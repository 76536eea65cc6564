// Owns: how an actor starts, stops, crashes and restarts, and events that are appended to its chain without a message.
// Does not own: the order of its turns (cell.ts), how its children stop (children.ts).
import { type Base, failedMessage, faults, hasParent, OK_NULL, type Plan } from "../chain/internal.ts";
import { type Clock, EngineError, type Entry, type Message, type Store, type Stored } from "../contract/index.ts";
import { invalidMessageReply } from "../contract/internal.ts";
import { appendToStored, loadActor } from "./actor-state.ts";
import { announce, announceStored, publishNow } from "./announce.ts";
import type { Cell } from "./cell.ts";
import type { Job, Task } from "./job.ts";
import { fromStore, messageFault } from "./fault-reports.ts";
import type { MemoryEvent } from "./lazy-heads.ts";
import { type Ancestors, NO_ACTORS, stopChildrenMessage, type Children } from "./children.ts";
import type { PendingCommit } from "./uncommitted.ts";

/** What starting and stopping need of the engine. */
export interface LifecycleOps {
  readonly clock: Clock;
  readonly store: Store | undefined;
  readonly children: Pick<Children, "stopChildren" | "stopChildrenOf" | "senderLives" | "whenSure">;
}

// ── start ───────────────────────────────────────────────────────────────────

/** A turn of another actor sent this message, so that actor would be the parent. */
export const isSentByParent = ({ actor }: Cell, { bounded, message }: Job): boolean =>
  !bounded && message.from !== undefined && hasParent(actor.kind);

// V8 allocates what a function's closures capture each time the function is entered, so `start` and `receive` have none.
export function startIfParentLives(cell: Cell, job: Job): void {
  ifParentLives(cell, job, () => start(cell, job));
}

/** A message starts no actor once its sender, which would be the parent, has ended the life it was sent in. */
export function ifParentLives(cell: Cell, job: Job, act: () => void): void {
  const { message } = job;
  const { from } = message;
  const { children } = cell.ops;
  if (from === undefined || !isSentByParent(cell, job)) return act();
  const go = (lives: boolean): void => (lives ? act() : job.fail(faults.parentStopped(cell.id, from)));
  const lives = children.senderLives(message);
  if (lives !== undefined) return go(lives);
  // The parent may have stopped since `whenSure` was resolved. If this process does not know, it did not change.
  startAfter(cell, job, children.whenSure(message), (sure) => go(children.senderLives(message) ?? sure));
}

/** A new life starts once the children of the last one have stopped. */
export function start(cell: Cell, job: Job): void {
  const stopping = cell.actor.life === "" ? undefined : cell.ops.children.stopChildren(cell.id, NO_ACTORS);
  if (stopping === undefined) firstTurn(cell, job);
  else startAfterChildren(cell, job, stopping);
}

function startAfterChildren(cell: Cell, job: Job, stopping: Promise<void>): void {
  startAfter(cell, job, stopping, () => firstTurn(cell, job));
}

/** Waits for a promise, then goes on unless the caller has cancelled meanwhile, and so got the error "not applied". */
function startAfter<T>(cell: Cell, job: Job, answer: Promise<T>, act: (value: T) => void): void {
  job.fresh = false;
  const goOn = (run: () => void): void =>
    cell.resume(job, () => {
      if (job.phase !== "over") run();
    });
  const done = answer.then(
    (value) => goOn(() => act(value)),
    (error: unknown) => goOn(() => job.fail(faults.fromStore(error))),
  );
  cell.suspend("starting", done);
}

function firstTurn(cell: Cell, job: Job): void {
  let base: Base;
  try {
    base = cell.actor.begin(job.message, cell.ops.store);
  } catch (error) {
    return error instanceof EngineError ? refused(cell, job, error) : crashed(cell, job, error, "turn");
  }
  cell.turn(job, base, true);
}

// ── stop ────────────────────────────────────────────────────────────────────

/** Stops an actor without asking its behaviour. */
export function stop(cell: Cell, job: Job, reason: string, ancestors: Ancestors): void {
  const { actor, id } = cell;
  const task: Task = {
    run: () => {
      if (actor.seq === 0) job.fail(faults.noActor(id));
      else if (actor.status === "stopped") job.done(OK_NULL);
      else cell.conclude(job, actor, false, { stop: reason }, ancestors);
    },
    abandon: (error) => job.fail(error),
  };
  cell.pushBeforeWork(task, faults.stoppedAtWork(id));
}

export function stopInMemory(cell: Cell, job: Job, plan: Plan, event: MemoryEvent, sent: readonly Message[], ancestors: Ancestors): void {
  job.phase = "commit";
  const message = stopChildrenMessage(plan, cell.ops.clock.now(), undefined);
  afterChildren(cell, job, message, ancestors, () => announce(cell, job, plan, event, sent));
}

export function stopInStore(cell: Cell, turn: PendingCommit, { message, ancestors }: NonNullable<PendingCommit["stopping"]>): void {
  // The last message is the one that stops the children.
  afterChildren(cell, turn.job, message, ancestors, () => announceStored(cell, turn, turn.entry.out.slice(0, -1)));
}

/** A committed stop is announced once the actor's children have stopped, or could not be stopped for now. */
function afterChildren(cell: Cell, job: Job, message: Message, ancestors: Ancestors, act: () => void): void {
  const stopping = cell.ops.children.stopChildrenOf(message, !cell.actor.memory, ancestors);
  if (stopping === undefined) return act();
  cell.suspend(
    "stopping-children",
    stopping.then(() => cell.resume(job, act)),
  );
}

// ── failures ────────────────────────────────────────────────────────────────

/** The actor takes no messages until it is restarted. Returns why. */
function failActor(cell: Cell, why: EngineError): EngineError {
  cell.actor.fail(why);
  publishNow(cell);
  return why;
}

/** A turn, or what it returned, was refused without being the actor's crash. */
export function refused(cell: Cell, job: Job, error: EngineError): void {
  const reply = invalidMessageReply(error, job.message);
  if (reply !== undefined) return job.done(reply);
  if (faults.isAuthors(error)) cell.ops.fault(error, messageFault("turn", cell.actor.kind.behaviour, job.message));
  job.fail(error);
}

export function crashed(cell: Cell, job: Job, error: unknown, where: "turn" | "work"): void {
  const { actor, id, ops } = cell;
  const { message } = job;
  // Not counted as a crash, or callers could fail an actor by sending it such messages.
  const reply = invalidMessageReply(error, message);
  if (reply !== undefined) return job.done(reply);
  ops.fault(error, messageFault(where, actor.kind.behaviour, message));
  // An actor that has not started has no state to protect, and callers could create failed ones under made-up keys.
  if (actor.status === "live") {
    const now = ops.clock.now();
    const why = actor.countCrash(now);
    if (why !== undefined) {
      failActor(cell, faults.failed(id, why, error));
      const toParent = failedMessage(actor.extra, id, why, message, now);
      if (toParent !== undefined) ops.deliver([toParent], false);
    }
  }
  job.fail(faults.crashed(id, actor.seq + 1, error));
}

// ── load, restart, append ───────────────────────────────────────────────────

/** Reads the actor's state from the store. Returns the error if the store failed. */
export async function loadState(cell: Cell): Promise<EngineError | undefined> {
  const { actor, id, ops } = cell;
  try {
    const failure = actor.restore(await loadActor(ops.store, actor));
    if (failure === undefined) return undefined;
    ops.fault(failure, { where: "load", actor: id });
    failActor(cell, failure);
    return undefined;
  } catch (error) {
    ops.fault(error, { where: "store", actor: id });
    return faults.fromStore(error);
  }
}

/** Discards what this process knows of the actor, its failure and its crashes included, and loads it again. */
export function restart(cell: Cell, job: Job): void {
  const restarted = (): void => {
    publishNow(cell);
    // Its timers were put off while it had failed.
    cell.timersChanged();
    job.done(OK_NULL);
  };
  const task: Task = {
    run: () => {
      if (cell.retryWhenCommitted(task)) return;
      cell.actor.forgive();
      if (cell.actor.memory) return restarted();
      void cell.load().then(() => (cell.lost === undefined ? restarted() : job.fail(cell.lost)));
    },
    abandon: (error) => job.fail(error),
  };
  cell.pushBeforeWork(task, faults.cancelled(cell.id));
}

/** Appends an event without a message, made of what the store has once all turns are committed; then loads the actor again. */
export function append(cell: Cell, make: (stored: Stored) => Entry): Promise<Entry> {
  const { promise, resolve, reject } = Promise.withResolvers<Entry>();
  const task: Task = {
    run: () => {
      if (cell.actor.memory) return reject(faults.noActor(cell.id));
      if (cell.retryWhenCommitted(task)) return;
      void cell.load([], fromStore(appendToStored(cell.ops.store, cell.id, make)).then(resolve, reject));
    },
    abandon: reject,
  };
  cell.push(task);
  return promise;
}
