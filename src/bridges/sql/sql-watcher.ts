// Owns: the thread that ends a process whose query takes too long or too much. Does not own: the query (sql-child.ts).

import { parentPort } from "node:worker_threads";
import type { Bounds } from "./protocol.ts";

const LOOK_MS = 20;

/** Undefined: no query runs. */
let bounds: { ms: number; readonly bytes: number } | undefined;

parentPort?.on("message", (next: Bounds | undefined) => {
  bounds = next;
});
setInterval(() => {
  if (bounds === undefined) return;
  bounds.ms -= LOOK_MS;
  if (bounds.ms <= 0 || process.memoryUsage.rss() > bounds.bytes) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
