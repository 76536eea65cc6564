// Owns: measuring how long a guest computes, in shared memory, and checking it regularly. Does not own: killing a thread (guest-thread.ts).
import { threadCpuUsage } from "node:process";
import type { Clock } from "../../../core/contract/index.ts";

/** Size of the shared memory. */
const METER_BYTES = 24;

const ENTRY = 0;
const CALL = 1;
const UNTIL = 2;

/** Processor time of this thread, in microseconds. On an overloaded machine, wall-clock time would punish the guest. */
function threadMicroseconds(): number {
  const { user, system } = threadCpuUsage();
  return user + system;
}

/**
 * The worker's side. A guest that spins answers no messages, so the running call is stored in shared memory. A counter guards it:
 * odd while a guest computes. The fields are written while it is even.
 */
export class CpuMeter {
  readonly #entry: Int32Array;
  readonly #fields: Float64Array;
  #since = 0;

  constructor(shared: SharedArrayBuffer) {
    this.#entry = new Int32Array(shared, 0, 1);
    this.#fields = new Float64Array(shared);
  }

  get isRunning(): boolean {
    return (Atomics.load(this.#entry, ENTRY) & 1) === 1;
  }

  /** A guest starts to compute, for at most `remaining` microseconds. */
  enter(call: number, remaining: number): void {
    this.#since = threadMicroseconds();
    this.#fields[CALL] = call;
    this.#fields[UNTIL] = this.#since + remaining;
    Atomics.add(this.#entry, ENTRY, 1);
  }

  /** The guest waits or has ended. Returns the microseconds it computed. */
  leave(): number {
    Atomics.add(this.#entry, ENTRY, 1);
    return threadMicroseconds() - this.#since;
  }
}

export interface RunningCall {
  /** The counter. The same number later means that the guest did not leave in between. */
  readonly entry: number;
  readonly call: number;
  /** The thread's processor time, in microseconds, at which the call reaches its limit. */
  readonly until: number;
}

/** The main thread's side. */
export class CpuMeterReader {
  readonly shared = new SharedArrayBuffer(METER_BYTES);
  readonly #entry = new Int32Array(this.shared, 0, 1);
  readonly #fields = new Float64Array(this.shared);

  current(): RunningCall | undefined {
    const entry = Atomics.load(this.#entry, ENTRY);
    if ((entry & 1) === 0) return undefined;
    const [, call = 0, until = 0] = this.#fields;
    // A guest that left during the read does not spin.
    return Atomics.load(this.#entry, ENTRY) === entry ? { entry, call, until } : undefined;
  }
}

/** Interval of checks in milliseconds. A call may exceed its limit by this much. */
const SHORTEST_MS = 5;
const LONGEST_MS = 250;

interface Watched {
  /** Whether a guest may be computing in it. */
  readonly isBusy: boolean;
  checkCpuTime(): void;
}

/** Checks workers while a guest may be computing, four times within the time limit of a call. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #workers: () => Iterable<Watched>;
  #stop: (() => void) | undefined;
  #everyMs = LONGEST_MS;

  constructor(clock: Clock, workers: () => Iterable<Watched>) {
    this.#clock = clock;
    this.#workers = workers;
  }

  /** A call with this limit starts to compute. */
  watch(callMs: number): void {
    const everyMs = Math.max(SHORTEST_MS, Math.min(LONGEST_MS, callMs / 4));
    if (this.#stop !== undefined && everyMs >= this.#everyMs) return;
    this.stop();
    this.#everyMs = everyMs;
    this.#wait();
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #wait(): void {
    this.#stop = this.#clock.after(this.#everyMs, () => {
      this.#stop = undefined;
      let busy = false;
      for (const worker of this.#workers()) {
        if (!worker.isBusy) continue;
        busy = true;
        worker.checkCpuTime();
      }
      if (busy) this.#wait();
    });
  }
}
