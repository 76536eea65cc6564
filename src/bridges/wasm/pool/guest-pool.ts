import { availableParallelism, totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { type Clock, type Closable, EngineError, systemClock } from "../../../core/contract/index.ts";
import type { GuestCall, GuestOutcome, Sandbox } from "../sandbox.ts";
import type { CoreModule } from "../abi/webassembly.ts";
import { type CallEnding, PendingCall, type Blame } from "./pending-call.ts";
import { ModuleCache } from "./module-cache.ts";
import { type WorkerExit, type WorkerEvents, PoolWorker, type WorkerOptions } from "./pool-worker.ts";
import { tooLong } from "./worker-protocol.ts";
import { Watchdog } from "./cpu-limit.ts";

/** Each reserves 10 GB of address space, whatever it holds, and a process has 128 TB. */
const MAX_MEMORIES = 10_000;

/** What `createSandbox` takes: its threads and what each of them retains. */
export interface SandboxOptions {
  /** Threads at most, started when they are needed and kept. Default: one less than there are processors, 1 to 4. */
  readonly workers?: number;
  /** Idle guests whose instance each worker keeps, so that their next call needs none made; default 1,000, all workers together 10,000 at most. */
  readonly instances?: number;
  /** Bytes of memory of the instances each worker keeps; default 512 MiB. */
  readonly instanceBytes?: number;
  /**
   * Bytes of memory of all guests that wait for their host, together; default half of what this process may have. Beyond it the calls of
   * those with the most end.
   */
  readonly waitingBytes?: number;
  /** Of each worker's JavaScript heap, in MiB; default 256. A guest's memory is not in it. */
  readonly heapMb?: number;
  /** Between two looks at what computes. How long a guest has computed, its thread's processor time says. */
  readonly clock?: Clock;
}

/** A pool of workers. It keeps the process alive only while calls are in flight. */
export function createSandbox(options: SandboxOptions = {}): Sandbox & Closable {
  if (!("cpuUsage" in Worker.prototype)) throw new Error("Guests need a Node that tells a thread's processor time: run 24.6 or newer.");
  const workers = checkedPositive("workers", options.workers ?? Math.min(4, Math.max(1, availableParallelism() - 1)));
  const instances = checkedPositive("instances", options.instances ?? 1_000);
  return new GuestPool({
    workers,
    instances: Math.min(instances, Math.max(1, Math.floor(MAX_MEMORIES / workers))),
    instanceBytes: checkedPositive("instanceBytes", options.instanceBytes ?? 512 * 1_048_576),
    waitingBytes: checkedPositive(
      "waitingBytes",
      options.waitingBytes ?? Math.floor(Math.min(process.constrainedMemory() || Infinity, totalmem()) / 2),
    ),
    heapMb: checkedPositive("heapMb", options.heapMb ?? 256),
    clock: options.clock ?? systemClock,
  });
}

function checkedPositive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`A sandbox's ${name} is ${value}: give a whole number above 0.`);
}

interface PoolOptions extends WorkerOptions {
  readonly workers: number;
  readonly waitingBytes: number;
  readonly clock: Clock;
}

/** With so many calls, a worker's guests may move. */
const BUSY_CALLS = 8;

const workerDied = (why: string): string => `The guest's worker died while it computed: ${why}. Let it hold less at once.`;
const lostAfterEffect = (why: string): string =>
  `Its worker ended after the host had done something for this call that lasts: ${why}. See what was done before it is asked again.`;
const retriedTooOften = (times: number, why: string): string =>
  `Its worker ended under it ${times} times, the last time because: ${why}. Ask again later.`;
const closedError = (): EngineError =>
  new EngineError("DRAINING", "The sandbox is closed: its guests run no more. Ask again after the restart.");

/** Who computes too long is alone to blame; that there is no memory left may be all of theirs who hold some. */
function blameFor({ hasStarted }: PendingCall, { causeKnown, error }: Omit<WorkerExit, "culprit">): Blame {
  if (!hasStarted && causeKnown) return "none";
  return error === undefined ? "innocent" : "suspect";
}

/** Guests in workers, the main thread's side. */
class GuestPool implements Sandbox, WorkerEvents, Closable {
  readonly #options: PoolOptions;
  readonly #workers = new Set<PoolWorker>();
  readonly #watchdog: Watchdog;
  readonly #modules = new ModuleCache((key) => {
    for (const worker of this.#workers) worker.unload(key);
  });
  /** By guest: the first is being tried, the others wait for it. */
  readonly #queues = new Map<string, PendingCall[]>();
  /** Those that wait for their host, with the bytes of their memories. */
  readonly #waiting = new Map<PendingCall, number>();
  #waitingBytes = 0;
  #closed = false;
  #killed = 0;
  #started = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#watchdog = new Watchdog(options.clock, () => this.#workers);
  }

  get measures(): Sandbox["measures"] {
    let instances = 0;
    for (const worker of this.#workers) instances += worker.instances.size;
    return { instances, workers: this.#workers.size, killed: this.#killed, started: this.#started };
  }

  memoryOf(guest: string): number | undefined {
    for (const { instances } of this.#workers) if (instances.has(guest)) return instances.bytesOf(guest);
    return undefined;
  }

  async run(call: GuestCall): Promise<GuestOutcome> {
    if (this.#closed) throw closedError();
    const { guest, signal } = call;
    signal.throwIfAborted();
    const flight = new PendingCall(call);
    const abort = (): void => this.#abort(flight);
    signal.addEventListener("abort", abort, { once: true });
    const queue = this.#queues.get(guest);
    queue?.push(flight);
    if (queue === undefined) {
      this.#queues.set(guest, [flight]);
      this.#dispatch(flight);
    }
    try {
      return await flight.outcome;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  forget(guest: string): void {
    for (const worker of this.#workers) worker.forget(guest);
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#watchdog.stop();
    for (const queue of this.#queues.values()) for (const flight of queue) flight.reject(closedError());
    this.#queues.clear();
    await Promise.all([...this.#workers].map((worker) => worker.end()));
  }

  onComputing(flight: PendingCall): void {
    this.#removeWaiting(flight);
    this.#watchdog.watch(flight.call.limits.callMs);
  }

  /**
   * While all that wait hold too much memory together, the call with the most ends; of several such calls, the newest. A single call may
   * wait, whatever it holds.
   */
  onWaiting(flight: PendingCall, bytes: number): void {
    this.#waiting.set(flight, bytes);
    this.#waitingBytes += bytes;
    while (this.#waitingBytes > this.#options.waitingBytes && this.#waiting.size > 1) {
      const [[largest] = []] = [...this.#waiting].toReversed().toSorted(([, one], [, other]) => other - one);
      if (largest === undefined) return;
      this.#removeWaiting(largest);
      largest.worker?.evict(largest);
    }
  }

  onDone(flight: PendingCall): void {
    this.#removeWaiting(flight);
    if (flight.isDone) return;
    flight.isDone = true;
    const { guest } = flight.call;
    const queue = this.#queues.get(guest);
    if (queue === undefined) return;
    const first = queue[0] === flight;
    queue.splice(queue.indexOf(flight), 1);
    const [next] = queue;
    if (next === undefined) this.#queues.delete(guest);
    else if (first) this.#dispatch(next);
  }

  onWorkerExit(worker: PoolWorker, flights: readonly PendingCall[], { culprit, causeKnown, error }: WorkerExit): void {
    this.#workers.delete(worker);
    if (this.#closed) return;
    const why = error ?? "another guest in it computed for too long";
    for (const flight of flights) {
      this.#removeWaiting(flight);
      flight.worker = undefined;
      if (flight === culprit) {
        this.#killed += 1;
        this.#settle(flight, error === undefined ? tooLong(flight.call.limits.callMs) : { end: "trap", message: workerDied(error) });
      } else void this.#retry(flight, blameFor(flight, { causeKnown, error }), why);
    }
  }

  #removeWaiting(flight: PendingCall): void {
    this.#waitingBytes -= this.#waiting.get(flight) ?? 0;
    this.#waiting.delete(flight);
  }

  #abort(flight: PendingCall): void {
    if (flight.isSettled) return;
    flight.reject(flight.call.signal.reason);
    // One that a worker has is over when the worker says so: of one guest there is one call at a time.
    if (flight.worker === undefined) this.onDone(flight);
    else flight.worker.abort(flight);
  }

  #settle(flight: PendingCall, ending: CallEnding): void {
    if (!flight.isSettled) flight.settle(ending);
    this.onDone(flight);
  }

  #dispatch(flight: PendingCall): void {
    const module = this.#modules.get(flight.key, flight.call);
    if (!(module instanceof Promise)) {
      this.#assign(flight, module);
      return;
    }
    module.then(
      (compiled) => this.#assign(flight, compiled),
      (error: unknown) => this.#settle(flight, { end: "trap", message: error instanceof Error ? error.message : String(error) }),
    );
  }

  #assign(flight: PendingCall, module: CoreModule): void {
    if (flight.isDone || this.#closed) return;
    flight.module = module;
    this.#chooseWorker(flight.call.guest).assign(flight);
  }

  /** Its worker died under it, for no fault of its own. */
  async #retry(flight: PendingCall, part: Blame, why: string): Promise<void> {
    if (flight.isSettled) {
      this.onDone(flight);
      return;
    }
    // What its host is doing for it may last.
    await flight.hostCall;
    const { module } = flight;
    if (flight.isDone || module === undefined) return;
    if (flight.hadLastingEffect) {
      this.#settle(flight, { end: "lost", message: lostAfterEffect(why) });
      return;
    }
    const times = flight.retry(part);
    if (times === undefined) this.#assign(flight, module);
    else this.#settle(flight, { end: "lost", message: retriedTooOften(times, why) });
  }

  /** Where its instance is, unless it would wait there much longer than elsewhere. */
  #chooseWorker(guest: string): PoolWorker {
    const open = [...this.#workers].filter((worker) => worker.acceptsCalls);
    const home = open.find((worker) => worker.instances.has(guest));
    if (home !== undefined && home.load < BUSY_CALLS) return home;
    let [least] = open;
    for (const worker of open) if (least === undefined || worker.load < least.load) least = worker;
    if (least === undefined || (least.load > 0 && open.length < this.#options.workers)) least = this.#startWorker();
    if (home === undefined) return least;
    if (least.load * 2 > home.load) return home;
    home.forget(guest);
    return least;
  }

  #startWorker(): PoolWorker {
    const worker = new PoolWorker(this, this.#options);
    this.#workers.add(worker);
    this.#started += 1;
    return worker;
  }
}
