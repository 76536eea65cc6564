// Owns: one run of an actor's work: its time limit, abort signal and context; which work waits for which actor, so that none waits in a
// circle. Does not own: the turn it ends with (cell.ts).
import { faults } from "../chain/internal.ts";
import {
  type ActorId,
  type Clock,
  type Context,
  EngineError,
  type Log,
  type Outgoing,
  type Past,
  type Progress,
  type Reply,
  type Turn,
  type Work,
} from "../contract/index.ts";
import { safeCall } from "../contract/internal.ts";
import type { OnFault } from "./fault-reports.ts";
import type { Job } from "./job.ts";

/** What work needs of the engine. */
export interface WorkOps {
  readonly clock: Clock;
  readonly waits: WaitForGraph;
  /** A call that work makes. Where that work may run again, the same call gets the same reply. */
  callFrom(work: Job, n: number, outgoing: Outgoing, endsAt: number, signal: AbortSignal): Promise<Reply>;
  /** Undefined: the actor is in memory. */
  pastOf(id: ActorId): Past | undefined;
  readonly fault: OnFault;
}

/** Called when a run ends, except by `end`. */
export interface WorkEnds {
  readonly turned: (turn: Turn<unknown>) => void;
  readonly threw: (error: unknown) => void;
  /** It took too long, and was ended. */
  readonly timedOut: (error: EngineError) => void;
}

// One for all runs, since every run ends with it and capturing a stack is expensive. Calls made afterwards throw an error of their own.
const ENDED = new EngineError("TURN_OVER", "This turn is over: stop when the signal aborts, what comes later is dropped.");

/** One run of work. Once it is over, its result is dropped and its context's functions throw `TURN_OVER`. */
export class WorkRun implements Context {
  readonly job: Job;
  readonly #id: ActorId;
  readonly #ops: WorkOps;
  readonly #abort = new AbortController();
  readonly #endsAt: number;
  readonly #ends: WorkEnds;
  readonly #undo: () => void;
  #over = false;
  #calls = 0;

  constructor(id: ActorId, ops: WorkOps, job: Job, workMs: number, ends: WorkEnds) {
    this.#id = id;
    this.#ops = ops;
    this.job = job;
    this.#ends = ends;
    this.#endsAt = ops.clock.now() + workMs;
    this.#undo = ops.clock.after(workMs, () => {
      const error = faults.workTimeout(id, workMs);
      if (this.end(error)) ends.timedOut(error);
    });
  }

  start(work: Work<unknown>): void {
    let running: Promise<Turn<unknown>>;
    try {
      running = work(this);
    } catch (error) {
      running = Promise.reject(error);
    }
    Promise.resolve(running).then(
      (turn) => this.end(ENDED) && this.#ends.turned(turn),
      (error: unknown) => this.end(ENDED) && this.#ends.threw(error),
    );
  }

  /** False: it had ended already. */
  end(reason: EngineError): boolean {
    if (this.#over) return false;
    this.#over = true;
    this.#undo();
    this.#abort.abort(reason);
    return true;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get past(): Past | undefined {
    return this.#ops.pastOf(this.#id);
  }

  readonly call = async (outgoing: Outgoing): Promise<Reply> => {
    this.#throwIfOver();
    const leave = this.#ops.waits.begin(this.#id, outgoing.to);
    try {
      const reply = await this.#ops.callFrom(this.job, this.#calls++, outgoing, this.#endsAt, this.signal);
      this.#throwIfOver();
      return reply;
    } finally {
      leave();
    }
  };

  readonly progress: Progress = (...step) => {
    this.#throwIfOver();
    this.#notify(() => this.job.options?.onProgress?.(...step));
  };

  readonly log: Log = (...line) => {
    this.#throwIfOver();
    this.#notify(() => this.job.options?.onLog?.(...line));
  };

  // The listener is the caller's: work does not fail if it throws.
  #notify(notify: () => void): void {
    safeCall(notify, (error) => this.#ops.fault(error, { where: "progress", actor: this.#id, action: this.job.message.action }));
  }

  #throwIfOver(): void {
    if (this.#over) throw faults.turnOver(this.#id);
  }
}

/** Which actor's work waits for a call to which other actor. A call that would close a cycle is refused (`CYCLE`) before it waits. */
export class WaitForGraph {
  readonly #targets = new Map<ActorId, Map<ActorId, number>>();

  /** Returns a function that ends the wait. */
  begin(from: ActorId, to: ActorId): () => void {
    if (this.#reaches(to, from)) throw faults.cycle(from, to);
    const targets = this.#targets.get(from) ?? new Map<ActorId, number>();
    this.#targets.set(from, targets);
    targets.set(to, (targets.get(to) ?? 0) + 1);
    return () => {
      const left = (targets.get(to) ?? 1) - 1;
      if (left > 0) targets.set(to, left);
      else targets.delete(to);
      if (targets.size === 0 && this.#targets.get(from) === targets) this.#targets.delete(from);
    };
  }

  #reaches(from: ActorId, goal: ActorId): boolean {
    const seen = new Set<ActorId>();
    const open = [from];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === goal) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      for (const target of this.#targets.get(next)?.keys() ?? []) open.push(target);
    }
    return false;
  }
}
