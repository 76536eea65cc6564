import type { CancelSignal, Clock } from "../contract/index.ts";
import { faults } from "../chain/internal.ts";
import type { Cell } from "./cell.ts";
import type { Job } from "./job.ts";
import type { Laters } from "./laters.ts";

export interface GuardHost {
  readonly clock: Clock;
  readonly laters: Laters;
  cell(job: Job): Pick<Cell, "cancel"> | undefined;
}

/** Callers that wait for each other leave one inside the other, and such a chain may be longer than any stack. */
const MOST_WITHIN = 64;
let within = 0;

function inTurn(leave: () => void): void {
  if (within >= MOST_WITHIN) return queueMicrotask(leave);
  within += 1;
  try {
    leave();
  } finally {
    within -= 1;
  }
}

type Ending = (applied: boolean, begun: boolean) => Error;

/** A caller may leave, or have waited long enough: that is heard up to the commit, and while "later" lasts. */
export class Guard {
  readonly #host: GuardHost;
  #job: Job | undefined;
  readonly #signal: CancelSignal | undefined;
  /** The caller leaves. */
  readonly leave: () => void;
  readonly #stopClock: (() => void) | undefined;
  /** Heard during the commit, when nothing can be taken back any more. */
  #heard: Ending | undefined;

  /** Watches over a message that is not over, until it is lifted. */
  constructor(host: GuardHost, job: Job, signal: CancelSignal | undefined) {
    const { to, deadline } = job.message;
    this.#host = host;
    this.#job = job;
    this.#signal = signal;
    this.leave = () => inTurn(() => this.#end((applied) => faults.cancelled(to, applied)));
    signal?.addEventListener("abort", this.leave, { once: true });
    if (deadline !== undefined) {
      const late = (): void => this.#end((applied, begun) => faults.deadline(to, applied, begun));
      this.#stopClock = host.clock.after(Math.max(0, deadline - host.clock.now()), late);
    }
  }

  lift(): void {
    this.#signal?.removeEventListener("abort", this.leave);
    this.#stopClock?.();
    // What is dead and old would keep what it points at alive until the next full collection.
    this.#job = undefined;
  }

  /** It is told "later" now: whoever has left during the commit does not wait for that. */
  recheck(): void {
    if (this.#heard !== undefined) this.#end(this.#heard);
  }

  #end(error: Ending): void {
    const { laters } = this.#host;
    const job = this.#job;
    if (job === undefined) return;
    if (job.phase === "commit") this.#heard = error;
    else if (job.phase === "later") {
      laters.leave(job.message.id, job);
      job.fail(faults.fromStore(error(true, true)));
    } else this.#host.cell(job)?.cancel(job, faults.fromStore(error(false, job.phase === "work")));
  }
}
