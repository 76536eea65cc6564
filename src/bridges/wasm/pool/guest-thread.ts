// Owns: the thread of one worker, and killing it when a guest computes for too long. Does not own: when to check (cpu-limit.ts).
import { Worker } from "node:worker_threads";
import type { HostCall } from "../sandbox.ts";
import { messageOf } from "../wasm-error.ts";
import { CpuMeterReader } from "./cpu-limit.ts";
import type { FromWorker, WorkerStart, ToWorker } from "./worker-protocol.ts";
import { CallRecorderReader } from "./call-recorder.ts";

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** Why a thread ended. */
export interface ThreadExit {
  /** The attempt that was running, if any. */
  readonly call: number | undefined;
  /** Host calls that it had answered and not reported. */
  readonly did: readonly HostCall[];
  /** The error; undefined if the call exceeded its time. */
  readonly error: string | undefined;
}

/** A worker's thread, and the memory it shares. Keeps the process alive only between `ref` and `unref`. */
export class GuestThread {
  readonly #worker: Worker;
  readonly #meter = new CpuMeterReader();
  readonly #recorder = new CallRecorderReader();
  readonly #exited = Promise.withResolvers<void>();
  #lastEntry = 0;
  #isChecking = false;
  /** The attempt for which it is being killed. */
  #killedCall: number | undefined;
  #hasExited = false;
  #error = "it exited";

  constructor(heapMb: number, onMessage: (message: FromWorker) => void, onExit: (end: ThreadExit) => void) {
    const start: WorkerStart = { meter: this.#meter.shared, recorder: this.#recorder.shared };
    this.#worker = new Worker(ENTRY, {
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // Options of the process may be invalid in a worker, and its environment must not be visible to guests.
      execArgv: [],
      env: {},
      name: "troupe-guests",
    });
    this.unref();
    this.#worker.on("message", onMessage);
    this.#worker.on("error", (error: unknown) => {
      this.#error = messageOf(error);
    });
    // All its messages were received before this event.
    this.#worker.on("exit", () => {
      this.#hasExited = true;
      this.#exited.resolve();
      onExit(this.#exit());
    });
  }

  /** Whether it is neither ended nor ending. */
  get acceptsCalls(): boolean {
    return this.#killedCall === undefined && !this.#hasExited;
  }

  ref(): void {
    this.#worker.ref();
  }

  unref(): void {
    this.#worker.unref();
  }

  post(message: ToWorker): void {
    if (this.acceptsCalls) this.#worker.postMessage(message, []);
  }

  /** Kills the thread if the running call was running at the last check too, and has exceeded its time. */
  checkCpuTime(): void {
    const inside = this.#meter.current();
    if (inside === undefined || this.#isChecking || !this.acceptsCalls) return;
    if (inside.entry !== this.#lastEntry) {
      this.#lastEntry = inside.entry;
      return;
    }
    this.#isChecking = true;
    const killIfOver = ({ user, system }: NodeJS.CpuUsage): void => {
      this.#isChecking = false;
      if (this.#meter.current()?.entry !== inside.entry || user + system < inside.until) return;
      this.#killedCall = inside.call;
      void this.#worker.terminate();
    };
    // Works even if a guest spins, since V8 interrupts it. Rejects once the thread has ended.
    this.#worker.cpuUsage().then(killIfOver, () => undefined);
  }

  async end(): Promise<void> {
    void this.#worker.terminate();
    await this.#exited.promise;
  }

  #exit(): ThreadExit {
    const inside = this.#meter.current()?.call;
    if (this.#killedCall === undefined) return { call: inside, did: inside === undefined ? [] : this.#recorder.read(), error: this.#error };
    return { call: this.#killedCall, did: inside === this.#killedCall ? this.#recorder.read() : [], error: undefined };
  }
}
