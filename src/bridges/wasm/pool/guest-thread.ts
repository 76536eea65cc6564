import { Worker } from "node:worker_threads";
import type { HostCall } from "../sandbox.ts";
import { MeterReader } from "./cpu-limit.ts";
import type { FromWorker, Start, ToWorker } from "./worker-protocol.ts";
import { RecorderReader } from "./call-recorder.ts";

const ENTRY = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** How a thread ended. */
export interface ThreadEnd {
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
  readonly #meter = new MeterReader();
  readonly #recorder = new RecorderReader();
  readonly #exited = Promise.withResolvers<void>();
  #seen = 0;
  #asking = false;
  /** The attempt it is being killed for. */
  #condemned: number | undefined;
  #dead = false;
  #error = "it exited";

  constructor(heapMb: number, hear: (message: FromWorker) => void, died: (end: ThreadEnd) => void) {
    const start: Start = { meter: this.#meter.shared, recorder: this.#recorder.shared };
    this.#worker = new Worker(ENTRY, {
      workerData: start,
      resourceLimits: { maxOldGenerationSizeMb: heapMb },
      // What the process was started with may not fit a worker, and is none of a guest's business.
      execArgv: [],
      env: {},
      name: "troupe-guests",
    });
    this.release();
    this.#worker.on("message", hear);
    this.#worker.on("error", (error: unknown) => {
      this.#error = error instanceof Error ? error.message : String(error);
    });
    // What it had still said was heard before.
    this.#worker.on("exit", () => {
      this.#dead = true;
      this.#exited.resolve();
      died(this.#end());
    });
  }

  /** It is not on its way out. */
  get open(): boolean {
    return this.#condemned === undefined && !this.#dead;
  }

  hold(): void {
    this.#worker.ref();
  }

  release(): void {
    this.#worker.unref();
  }

  post(message: ToWorker): void {
    if (this.open) this.#worker.postMessage(message, []);
  }

  /** One look at its meter: a call that was there at the last look too, and has computed for too long, ends its thread. */
  sample(): void {
    const inside = this.#meter.inside();
    if (inside === undefined || this.#asking || !this.open) return;
    if (inside.entry !== this.#seen) {
      this.#seen = inside.entry;
      return;
    }
    this.#asking = true;
    const judge = ({ user, system }: NodeJS.CpuUsage): void => {
      this.#asking = false;
      if (this.#meter.inside()?.entry !== inside.entry || user + system < inside.until) return;
      this.#condemned = inside.call;
      void this.#worker.terminate();
    };
    // It is answered though a guest spins: V8 interrupts it. Not once the thread is gone.
    this.#worker.cpuUsage().then(judge, () => undefined);
  }

  async end(): Promise<void> {
    void this.#worker.terminate();
    await this.#exited.promise;
  }

  #end(): ThreadEnd {
    const inside = this.#meter.inside()?.call;
    if (this.#condemned === undefined) return { call: inside, did: inside === undefined ? [] : this.#recorder.read(), error: this.#error };
    return { call: this.#condemned, did: inside === this.#condemned ? this.#recorder.read() : [], error: undefined };
  }
}
