import type { CoreModule } from "../abi/webassembly.ts";
import type { GuestCall, GuestHost, GuestOutcome, HostCall } from "../sandbox.ts";
import type { PoolWorker } from "./pool-worker.ts";

/** How many workers may end under a call that may have a part in it. */
const MAX_SUSPECT_DEATHS = 3;
/** And for what another guest in them did, where it had begun: each time its host is asked all again. */
const MAX_INNOCENT_DEATHS = 10;

/** How a worker ended, for a call that was in it. */
export type Blame =
  | /** It had not begun there, and another did it. */ "none"
  | /** It had begun, and another did it. */ "innocent"
  | "suspect";

type WithoutRecord<T> = T extends unknown ? Omit<T, "did" | "host"> : never;

/** How a call ended, apart from what was done for it. */
export type CallEnding = WithoutRecord<GuestOutcome>;

/** One call, from when it was asked for until its guest is free again. */
export class PendingCall {
  readonly call: GuestCall;
  readonly key: string;
  module: CoreModule | undefined;
  /** Where it waits or runs. */
  worker: PoolWorker | undefined;
  /** Of this attempt: what its host did, in order. */
  did: HostCall[] = [];
  /** Of this attempt: it has been inside its worker, and waited. */
  hasStarted = false;
  /** Of this attempt: its host did something that cannot be undone. */
  hadLastingEffect = false;
  /** What its host is doing for it. */
  hostCall: Promise<void> | undefined;
  /** Of this attempt: it may wait no longer, since those that wait hold too much memory. */
  isEvicted = false;
  /** Its caller has an answer. */
  isSettled = false;
  /** Its guest is free again. */
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

  /** From the beginning, with another host. A number: no more, after so many. */
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
