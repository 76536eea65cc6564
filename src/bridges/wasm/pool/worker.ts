import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { CpuMeter } from "./cpu-limit.ts";
import type { FromWorker, WorkerStart, ToWorker } from "./worker-protocol.ts";
import { CallRecorder } from "./call-recorder.ts";
import { WorkerHost } from "./worker-host.ts";

// A thread's intrinsics are its own: what a guest names `__proto__` finds no prototype here.
Reflect.deleteProperty(Object.prototype, "__proto__");
const port = parentPort;
if (port === null) throw new Error("This file is what a sandbox's worker runs: call createSandbox");
const start: WorkerStart = workerData;
const post = (message: FromWorker, transfer: readonly ArrayBuffer[]): void => port.postMessage(message, transfer);
const meter = new CpuMeter(start.meter);
const host = new WorkerHost(meter, new CallRecorder(start.recorder), post);
pollMessages(
  port,
  (message) => host.handle(message),
  () => meter.isRunning,
);

/**
 * So long whoever is answered takes to wake and to ask again where the system is slow to wake threads. Asleep by then, this one would
 * have to be woken as well. Each message costs its thread so much of a processor at most.
 */
const POLL_MS = 0.2;
/** Modules are compiled, and timers ring, only when the thread has nothing to look for. */
const MAX_POLL_MS = 1;

/**
 * Hears each message in order, and looks a moment for the next before the thread sleeps. On one processor that moment
 * would be the sender's. `inside`: a guest computes, in microtasks of what was heard; nobody else may come in between.
 */
export function pollMessages(source: MessagePort, handle: (message: ToWorker) => void, isRunning: () => boolean): void {
  let isPolling = false;
  const poll = async (): Promise<void> => {
    isPolling = true;
    const end = performance.now() + MAX_POLL_MS;
    for (let until = end - MAX_POLL_MS + POLL_MS; performance.now() < until;) {
      await Promise.resolve();
      if (isRunning()) continue;
      const next = receiveMessageOnPort(source);
      if (next === undefined) continue;
      handle(next.message);
      until = Math.min(end, performance.now() + POLL_MS);
    }
    isPolling = false;
  };
  const canPoll = availableParallelism() > 1;
  source.on("message", (message: ToWorker) => {
    handle(message);
    if (canPoll && !isPolling) void poll();
  });
}
