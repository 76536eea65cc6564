import { EngineError } from "../contract/index.ts";
import { safeCall } from "../contract/internal.ts";
import type { ActorId, Context, Log, Outgoing, Progress, Reply, Turn, Work } from "../contract/index.ts";
import { faults } from "../chain/internal.ts";
import type { Host } from "./host.ts";
import type { Job } from "./job.ts";

/** How a run ended; not called when it was ended from outside. */
export interface WorkEnds {
  readonly turned: (turn: Turn<unknown>) => void;
  readonly threw: (error: unknown) => void;
  /** Past its time: the run has been ended already. */
  readonly timedOut: (error: EngineError) => void;
}

// Made once: every run ends with it, and what an error costs is its stack. Whoever calls something afterwards gets one of its own.
const ENDED = new EngineError("TURN_OVER", "This turn is over: stop when the signal aborts, what comes later is dropped.");

/** One run of work, behind its fence: once over, what it returns is dropped and what it calls throws `TURN_OVER`. */
export class WorkRun implements Context {
  readonly job: Job;
  readonly #id: ActorId;
  readonly #host: Host;
  readonly #abort = new AbortController();
  readonly #endsAt: number;
  readonly #ends: WorkEnds;
  readonly #undo: () => void;
  #over = false;
  #calls = 0;

  constructor(id: ActorId, host: Host, job: Job, workMs: number, ends: WorkEnds) {
    this.#id = id;
    this.#host = host;
    this.job = job;
    this.#ends = ends;
    this.#endsAt = host.clock.now() + workMs;
    this.#undo = host.clock.after(workMs, () => {
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

  /** Raises the fence. False: it was up already. */
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

  readonly call = async (outgoing: Outgoing): Promise<Reply> => {
    this.#fence();
    const leave = this.#host.waits.begin(this.#id, outgoing.to);
    try {
      const reply = await this.#host.callFrom(this.job, this.#calls++, outgoing, this.#endsAt, this.signal);
      this.#fence();
      return reply;
    } finally {
      leave();
    }
  };

  readonly progress: Progress = (...step) => {
    this.#fence();
    this.#tell(() => this.job.options?.onProgress?.(...step));
  };

  readonly log: Log = (...line) => {
    this.#fence();
    this.#tell(() => this.job.options?.onLog?.(...line));
  };

  // Who listens is the caller: work does not fail because of it.
  #tell(tell: () => void): void {
    safeCall(tell, (error) => this.#host.fault(error, { where: "progress", actor: this.#id, action: this.job.message.action }));
  }

  #fence(): void {
    if (this.#over) throw faults.turnOver(this.#id);
  }
}
