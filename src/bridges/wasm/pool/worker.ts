import { parentPort, workerData } from "node:worker_threads";
import { hearFrom } from "./linger.ts";
import { Meter } from "./meter.ts";
import type { FromWorker, Start } from "./protocol.ts";
import { Recorder } from "./recorder.ts";
import { Room } from "./room.ts";

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
