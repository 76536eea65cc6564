import { availableParallelism, totalmem } from "node:os";
import { Worker } from "node:worker_threads";
import { type Closable, type Clock, systemClock } from "../../../core/contract/index.ts";
import type { Sandbox } from "../sandbox.ts";
import { GuestPool } from "./guest-pool.ts";

/** Each reserves 10 GB of address space, whatever it holds, and a process has 128 TB. */
const MEMORIES = 10_000;

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
  const workers = positive("workers", options.workers ?? Math.min(4, Math.max(1, availableParallelism() - 1)));
  const instances = positive("instances", options.instances ?? 1_000);
  return new GuestPool({
    workers,
    instances: Math.min(instances, Math.max(1, Math.floor(MEMORIES / workers))),
    instanceBytes: positive("instanceBytes", options.instanceBytes ?? 512 * 1_048_576),
    waitingBytes: positive(
      "waitingBytes",
      options.waitingBytes ?? Math.floor(Math.min(process.constrainedMemory() || Infinity, totalmem()) / 2),
    ),
    heapMb: positive("heapMb", options.heapMb ?? 256),
    clock: options.clock ?? systemClock,
  });
}

function positive(name: string, value: number): number {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new RangeError(`A sandbox's ${name} is ${value}: give a whole number above 0.`);
}
