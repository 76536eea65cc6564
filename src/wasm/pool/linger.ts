import { availableParallelism } from "node:os";
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { performance } from "node:perf_hooks";
import type { ToWorker } from "./protocol.ts";

/** To wake a thread takes as long: whoever asks again at once need not wait for that. */
const LINGER_MS = 0.1;

/**
 * Hears each message in order, and looks a moment for the next before the thread sleeps. On one processor that moment
 * would be the sender's.
 */
export function hearFrom(port: MessagePort, hear: (message: ToWorker) => void): void {
  let looking = false;
  const look = async (): Promise<void> => {
    looking = true;
    for (let until = performance.now() + LINGER_MS; performance.now() < until;) {
      // What a message has begun goes on in microtasks.
      await Promise.resolve();
      const next = receiveMessageOnPort(port);
      if (next === undefined) continue;
      hear(next.message);
      until = performance.now() + LINGER_MS;
    }
    looking = false;
  };
  const lingers = availableParallelism() > 1;
  port.on("message", (message: ToWorker) => {
    hear(message);
    if (lingers && !looking) void look();
  });
}
