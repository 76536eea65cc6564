import { threadCpuUsage } from "node:process";
import type { Clock } from "../../../core/contract/index.ts";

/** How many bytes the two sides share. */
const METER_BYTES = 24;

const ENTRY = 0;
const CALL = 1;
const UNTIL = 2;

/** Processor time of this thread, in microseconds: on a machine that is starved, a clock on the wall blames the guest. */
function threadMicroseconds(): number {
  const { user, system } = threadCpuUsage();
  return user + system;
}

/**
 * The worker's side. A guest that spins answers no message, so who is inside stands in shared memory, guarded by a
 * counter: odd while a guest computes, and its fields are written while it is even.
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

  /** A guest computes from now on, and may for so many microseconds. */
  enter(call: number, remaining: number): void {
    this.#since = threadMicroseconds();
    this.#fields[CALL] = call;
    this.#fields[UNTIL] = this.#since + remaining;
    Atomics.add(this.#entry, ENTRY, 1);
  }

  /** It waits, or is over. Gives how many microseconds it computed. */
  leave(): number {
    Atomics.add(this.#entry, ENTRY, 1);
    return threadMicroseconds() - this.#since;
  }
}

export interface RunningCall {
  /** Which stay it is: the same number means that nobody left in between. */
  readonly entry: number;
  readonly call: number;
  /** The thread's processor time, in microseconds, when it has computed as long as it may. */
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
    // Whoever left while this was read does not spin.
    return Atomics.load(this.#entry, ENTRY) === entry ? { entry, call, until } : undefined;
  }
}

/** Between two looks, in milliseconds: a call may compute for so much longer than it should. */
const SHORTEST_MS = 5;
const LONGEST_MS = 250;

interface Watched {
  /** Some guest may be computing in it. */
  readonly isBusy: boolean;
  checkCpuTime(): void;
}

/** Looks at workers as long as a guest may be computing in one, four times in the time that a call may take. */
export class Watchdog {
  readonly #clock: Clock;
  readonly #workers: () => Iterable<Watched>;
  #stop: (() => void) | undefined;
  #everyMs = LONGEST_MS;

  constructor(clock: Clock, workers: () => Iterable<Watched>) {
    this.#clock = clock;
    this.#workers = workers;
  }

  /** A call begins to compute, and may for so long. */
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
