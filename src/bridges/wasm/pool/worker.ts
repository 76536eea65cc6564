// Owns: the entry point of a worker thread, and how it receives messages. Does not own: what it does with them (worker-host.ts).
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { CpuMeter } from "./cpu-limit.ts";
import type { FromWorker, WorkerStart, ToWorker } from "./worker-protocol.ts";
import { CallRecorder } from "./call-recorder.ts";
import { WorkerHost } from "./worker-host.ts";

// Each thread has its own intrinsics. Without this accessor, a guest's key `__proto__` is an ordinary key.
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
 * About the time in which the main thread wakes, reads an answer and sends the next call. If this thread slept by then, it would have
 * to be woken too. Each message costs at most this much processor time.
 */
const POLL_MS = 0.2;
/** Compiling modules and timers wait while the thread polls. */
const MAX_POLL_MS = 1;

/**
 * Handles each message in order, and polls briefly for the next one before the thread sleeps. Not on a single processor, where
 * polling would delay the sender. `isRunning`: a guest is computing in microtasks of the last message, and must not be interrupted.
 */
function pollMessages(source: MessagePort, handle: (message: ToWorker) => void, isRunning: () => boolean): void {
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
