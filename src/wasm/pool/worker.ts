import { parentPort, workerData } from "node:worker_threads";
import { Meter } from "./meter.ts";
import type { FromWorker, Start, ToWorker } from "./protocol.ts";
import { Room } from "./room.ts";

const port = parentPort;
if (port === null) throw new Error("This file is what a sandbox's worker runs: call createSandbox");
const start: Start = workerData;
const room = new Room(new Meter(start.meter), (message: FromWorker, transfer) => port.postMessage(message, transfer));
port.on("message", (message: ToWorker) => room.hear(message));
