// Owns: the sandbox on the main thread: queues of calls, choosing workers, and retries. Does not own: one worker's calls (pool-worker.ts).
import { availableParallelism, totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { checkOptions, type Clock, type Closable, EngineError, type OptionTable, systemClock } from "../../../core/contract/index.ts";
import type { GuestCall, GuestOutcome, Sandbox } from "../sandbox.ts";
import type { CoreModule } from "../abi/webassembly.ts";
import { messageOf } from "../wasm-error.ts";
import { type CallEnding, PendingCall, type Blame } from "./pending-call.ts";
import { ModuleCache } from "./module-cache.ts";
import { type WorkerExit, type WorkerEvents, PoolWorker, type WorkerOptions } from "./pool-worker.ts";
import { tooLong } from "./worker-protocol.ts";
import { Watchdog } from "./cpu-limit.ts";
import { counted } from "../../../core/contract/internal.ts";

/** Each memory reserves 10 GB of address space, and a process has 128 TB. */
const MAX_MEMORIES = 10_000;

/** The options of `createSandbox`: its threads, and what each of them retains. */
export interface SandboxOptions {
  /** The most threads; started on demand. Default: the number of processors minus one, from 1 to 4. */
  readonly workers?: number;
  /** Instances of idle guests that each worker retains for their next call. Default 1,000; all workers together at most 10,000. */
  readonly instances?: number;
  /** Bytes of memory of the instances that each worker retains. Default 512 MiB. */
  readonly instanceBytes?: number;
  /**
   * Bytes of memory of all guests that wait for their host. Default: half of the memory that this process may use. Above it, calls of
   * the largest guests end.
   */
  readonly waitingBytes?: number;
  /** Each worker's JavaScript heap, in MiB, without the memories of guests. Default 256. */
  readonly heapMb?: number;
  /** Times the checks of running guests. Their limit itself is processor time of the thread. */
  readonly clock?: Clock;
}

const OPTIONS: OptionTable<SandboxOptions> = {
  workers: true,
  instances: true,
  instanceBytes: true,
  waitingBytes: true,
  heapMb: true,
  clock: true,
};

/** Creates a pool of workers. It keeps the process alive only while calls are in flight. */
export function createSandbox(options: SandboxOptions = {}): Sandbox & Closable {
  checkOptions("createSandbox", options, OPTIONS);
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

/** From this many calls on, guests of a worker may move to another. */
const BUSY_CALLS = 8;

const workerDied = (why: string): string => `The guest's worker died while it computed: ${why}. Let it hold less at once.`;
const lostAfterEffect = (why: string): string =>
  `Its worker ended after the host had done something for this call that lasts: ${why}. See what was done before it is asked again.`;
const retriedTooOften = (times: number, why: string): string =>
  `Its worker ended under it ${counted(times, "time")}, the last time because: ${why}. Ask again later.`;
const closedError = (): EngineError =>
  new EngineError("DRAINING", "The sandbox is closed: its guests run no more. Ask again after the restart.");

/** A call that computed for too long is alone to blame. Every call in a worker may have caused it to run out of memory. */
function blameFor({ hasStarted }: PendingCall, { causeKnown, error }: Omit<WorkerExit, "culprit">): Blame {
  if (!hasStarted && causeKnown) return "none";
  return error === undefined ? "innocent" : "suspect";
}

/** Runs guests in workers. */
class GuestPool implements Sandbox, WorkerEvents, Closable {
  readonly #options: PoolOptions;
  readonly #workers = new Set<PoolWorker>();
  readonly #watchdog: Watchdog;
  readonly #modules = new ModuleCache((key) => {
    for (const worker of this.#workers) worker.unload(key);
  });
  /** Calls by guest. The first is running, the others wait for it. */
  readonly #queues = new Map<string, PendingCall[]>();
  /** Calls that wait for their host, with the bytes of their memories. */
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
    const pending = new PendingCall(call);
    const abort = (): void => this.#abort(pending);
    signal.addEventListener("abort", abort, { once: true });
    const queue = this.#queues.get(guest);
    queue?.push(pending);
    if (queue === undefined) {
      this.#queues.set(guest, [pending]);
      this.#dispatch(pending);
    }
    try {
      return await pending.outcome;
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
    for (const queue of this.#queues.values()) for (const pending of queue) pending.reject(closedError());
    this.#queues.clear();
    await Promise.all([...this.#workers].map((worker) => worker.end()));
  }

  onComputing(pending: PendingCall): void {
    this.#removeWaiting(pending);
    this.#watchdog.watch(pending.call.limits.callMs);
  }

  /**
   * While all waiting calls hold too much memory together, the largest is evicted; of several, the newest. A single call may always
   * wait.
   */
  onWaiting(pending: PendingCall, bytes: number): void {
    this.#waiting.set(pending, bytes);
    this.#waitingBytes += bytes;
    while (this.#waitingBytes > this.#options.waitingBytes && this.#waiting.size > 1) {
      const [[largest] = []] = [...this.#waiting].toReversed().toSorted(([, one], [, other]) => other - one);
      if (largest === undefined) return;
      this.#removeWaiting(largest);
      largest.worker?.evict(largest);
    }
  }

  onDone(pending: PendingCall): void {
    this.#removeWaiting(pending);
    if (pending.isDone) return;
    pending.isDone = true;
    const { guest } = pending.call;
    const queue = this.#queues.get(guest);
    if (queue === undefined) return;
    const first = queue[0] === pending;
    queue.splice(queue.indexOf(pending), 1);
    const [next] = queue;
    if (next === undefined) this.#queues.delete(guest);
    else if (first) this.#dispatch(next);
  }

  onWorkerExit(worker: PoolWorker, calls: readonly PendingCall[], { culprit, causeKnown, error }: WorkerExit): void {
    this.#workers.delete(worker);
    if (this.#closed) return;
    const why = error ?? "another guest in it computed for too long";
    for (const pending of calls) {
      this.#removeWaiting(pending);
      pending.worker = undefined;
      if (pending === culprit) {
        this.#killed += 1;
        this.#settle(pending, error === undefined ? tooLong(pending.call.limits.callMs) : { end: "trap", message: workerDied(error) });
      } else void this.#retry(pending, blameFor(pending, { causeKnown, error }), why);
    }
  }

  #removeWaiting(pending: PendingCall): void {
    this.#waitingBytes -= this.#waiting.get(pending) ?? 0;
    this.#waiting.delete(pending);
  }

  #abort(pending: PendingCall): void {
    if (pending.isSettled) return;
    pending.reject(pending.call.signal.reason);
    // A call in a worker ends when the worker reports it, since calls of one guest run one at a time.
    if (pending.worker === undefined) this.onDone(pending);
    else pending.worker.abort(pending);
  }

  #settle(pending: PendingCall, ending: CallEnding): void {
    if (!pending.isSettled) pending.settle(ending);
    this.onDone(pending);
  }

  #dispatch(pending: PendingCall): void {
    const module = this.#modules.get(pending.key, pending.call);
    if (!(module instanceof Promise)) {
      this.#assign(pending, module);
      return;
    }
    module.then(
      (compiled) => this.#assign(pending, compiled),
      (error: unknown) => this.#settle(pending, { end: "trap", message: messageOf(error) }),
    );
  }

  #assign(pending: PendingCall, module: CoreModule): void {
    if (pending.isDone || this.#closed) return;
    pending.module = module;
    this.#chooseWorker(pending.call.guest).assign(pending);
  }

  /** Retries a call whose worker died. */
  async #retry(pending: PendingCall, part: Blame, why: string): Promise<void> {
    if (pending.isSettled) {
      this.onDone(pending);
      return;
    }
    // Its host call in flight may have a lasting effect.
    await pending.hostCall;
    const { module } = pending;
    if (pending.isDone || module === undefined) return;
    if (pending.hadLastingEffect) {
      this.#settle(pending, { end: "lost", message: lostAfterEffect(why) });
      return;
    }
    const times = pending.retry(part);
    if (times === undefined) this.#assign(pending, module);
    else this.#settle(pending, { end: "lost", message: retriedTooOften(times, why) });
  }

  /** The worker with the guest's instance, unless another one has much less to do. */
  #chooseWorker(guest: string): PoolWorker {
    const open = [...this.#workers].filter((worker) => worker.acceptsCalls);
    const home = open.find((worker) => worker.instances.has(guest));
    if (home !== undefined && home.load < BUSY_CALLS) return home;
    let [leastLoaded] = open;
    for (const worker of open) if (leastLoaded === undefined || worker.load < leastLoaded.load) leastLoaded = worker;
    if (leastLoaded === undefined || (leastLoaded.load > 0 && open.length < this.#options.workers)) leastLoaded = this.#startWorker();
    if (home === undefined) return leastLoaded;
    if (leastLoaded.load * 2 > home.load) return home;
    home.forget(guest);
    return leastLoaded;
  }

  #startWorker(): PoolWorker {
    const worker = new PoolWorker(this, this.#options);
    this.#workers.add(worker);
    this.#started += 1;
    return worker;
  }
}
