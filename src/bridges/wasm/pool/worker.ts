import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { Meter } from "./cpu-limit.ts";
import type { FromWorker, Start, ToWorker } from "./worker-protocol.ts";
import { Recorder } from "./call-recorder.ts";
import { Room } from "./worker-host.ts";

// A thread's intrinsics are its own: what a guest names `__proto__` finds no prototype here.
Reflect.deleteProperty(Object.prototype, "__proto__");
const port = parentPort;
if (port === null) throw new Error("This file is what a sandbox's worker runs: call createSandbox");
const start: Start = workerData;
const post = (message: FromWorker, transfer: readonly ArrayBuffer[]): void => port.postMessage(message, transfer);
const meter = new Meter(start.meter);
const room = new Room(meter, new Recorder(start.recorder), post);
hearFrom(
  port,
  (message) => room.hear(message),
  () => meter.inside,
);

/**
 * So long whoever is answered takes to wake and to ask again where the system is slow to wake threads. Asleep by then, this one would
 * have to be woken as well. Each message costs its thread so much of a processor at most.
 */
const LINGER_MS = 0.2;
/** Modules are compiled, and timers ring, only when the thread has nothing to look for. */
const MOST_MS = 1;

/**
 * Hears each message in order, and looks a moment for the next before the thread sleeps. On one processor that moment
 * would be the sender's. `inside`: a guest computes, in microtasks of what was heard; nobody else may come in between.
 */
export function hearFrom(port: MessagePort, hear: (message: ToWorker) => void, inside: () => boolean): void {
  let looking = false;
  const look = async (): Promise<void> => {
    looking = true;
    const end = performance.now() + MOST_MS;
    for (let until = end - MOST_MS + LINGER_MS; performance.now() < until;) {
      await Promise.resolve();
      if (inside()) continue;
      const next = receiveMessageOnPort(port);
      if (next === undefined) continue;
      hear(next.message);
      until = Math.min(end, performance.now() + LINGER_MS);
    }
    looking = false;
  };
  const lingers = availableParallelism() > 1;
  port.on("message", (message: ToWorker) => {
    hear(message);
    if (lingers && !looking) void look();
  });
}
