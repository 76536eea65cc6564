// Owns: the state of one call in the pool, across its attempts.
import type { CoreModule } from "../abi/webassembly.ts";
import type { GuestCall, GuestHost, GuestOutcome, HostCall } from "../sandbox.ts";
import type { PoolWorker } from "./pool-worker.ts";

/** How many workers may die during a call that may have caused it. */
const MAX_SUSPECT_DEATHS = 3;
/** How many may die through another guest, once the call has started: each retry repeats all its host calls. */
const MAX_INNOCENT_DEATHS = 10;

/** What part a call may have in the death of its worker. */
export type Blame =
  | /** It had not started, and another call was the cause. */ "none"
  | /** It had started, and another call was the cause. */ "innocent"
  | "suspect";

type WithoutRecord<T> = T extends unknown ? Omit<T, "did" | "host"> : never;

/** How a call ended, without its host calls. */
export type CallEnding = WithoutRecord<GuestOutcome>;

/** One call, from its request until its guest is free again. */
export class PendingCall {
  readonly call: GuestCall;
  readonly key: string;
  module: CoreModule | undefined;
  /** The worker in which it waits or runs. */
  worker: PoolWorker | undefined;
  /** Host calls of this attempt, in order. */
  did: HostCall[] = [];
  /** Whether this attempt has run until a host call. */
  hasStarted = false;
  /** Whether a host call of this attempt had a lasting effect. */
  hadLastingEffect = false;
  /** The host call in flight. */
  hostCall: Promise<void> | undefined;
  /** This attempt was ended because waiting calls held too much memory. */
  isEvicted = false;
  /** Its caller has the outcome. */
  isSettled = false;
  /** Its guest is free for the next call. */
  isDone = false;
  #host: GuestHost | undefined;
  #suspect = 0;
  #innocent = 0;
  readonly #outcome = Promise.withResolvers<GuestOutcome>();

  constructor(call: GuestCall) {
    this.call = call;
    this.key = `${call.component.digest} ${call.limits.memoryBytes}`;
  }

  get outcome(): Promise<GuestOutcome> {
    return this.#outcome.promise;
  }

  get host(): GuestHost {
    return (this.#host ??= this.call.host());
  }

  settle(ending: CallEnding): void {
    this.isSettled = true;
    this.#outcome.resolve({ ...ending, did: this.did, host: this.host });
  }

  reject(reason: unknown): void {
    this.isSettled = true;
    this.#outcome.reject(reason);
  }

  /** Resets it for another attempt with a new host. Returns the number of attempts if there were too many. */
  retry(blame: Blame): number | undefined {
    if (blame === "suspect") this.#suspect += 1;
    if (blame === "innocent") this.#innocent += 1;
    if (this.#suspect >= MAX_SUSPECT_DEATHS || this.#innocent >= MAX_INNOCENT_DEATHS) return this.#suspect + this.#innocent;
    this.worker = this.hostCall = this.#host = undefined;
    this.did = [];
    this.hasStarted = this.hadLastingEffect = this.isEvicted = false;
    return undefined;
  }
}
