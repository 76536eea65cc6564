import { Worker } from "node:worker_threads";
import type { HostCall } from "../sandbox.ts";
import { CpuMeterReader } from "./cpu-limit.ts";
import type { FromWorker, WorkerStart, ToWorker } from "./worker-protocol.ts";
import { CallRecorderReader } from "./call-recorder.ts";

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** How a thread ended. */
export interface ThreadExit {
  /** In which attempt's call, if in one. */
  readonly call: number | undefined;
  /** What it had answered in that call and not told. */
  readonly did: readonly HostCall[];
  /** Why, where it was not that call's time. */
  readonly error: string | undefined;
}

/** A worker's thread, and the memory it shares. Keeps the process alive only between `hold` and `release`. */
export class GuestThread {
  readonly #worker: Worker;
  readonly #meter = new CpuMeterReader();
  readonly #recorder = new CallRecorderReader();
  readonly #exited = Promise.withResolvers<void>();
  #lastEntry = 0;
  #isChecking = false;
  /** The attempt it is being killed for. */
  #killedCall: number | undefined;
  #hasExited = false;
  #error = "it exited";

  constructor(heapMb: number, onMessage: (message: FromWorker) => void, onExit: (end: ThreadExit) => void) {
    const start: WorkerStart = { meter: this.#meter.shared, recorder: this.#recorder.shared };
    this.#worker = new Worker(ENTRY, {
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // What the process was started with may not fit a worker, and is none of a guest's business.
      execArgv: [],
      env: {},
      name: "troupe-guests",
    });
    this.unref();
    this.#worker.on("message", onMessage);
    this.#worker.on("error", (error: unknown) => {
      this.#error = error instanceof Error ? error.message : String(error);
    });
    // What it had still said was heard before.
    this.#worker.on("exit", () => {
      this.#hasExited = true;
      this.#exited.resolve();
      onExit(this.#exit());
    });
  }

  /** It is not on its way out. */
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

  /** One look at its meter: a call that was there at the last look too, and has computed for too long, ends its thread. */
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
    // It is answered though a guest spins: V8 interrupts it. Not once the thread is gone.
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
