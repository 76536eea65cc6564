// Pins the server to one core and the load to another. Otherwise the scheduler moves them, which distorts the bursts.
import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { note } from "./table.ts";

export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

let warned = false;

/** Whether processes can be pinned here. */
const canPin = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;
const pinned = (): boolean => {
  if (!canPin && !warned) note("taskset is not here, or there is one core: where server and load run is the system's choice.");
  warned = true;
  return canPin;
};

/** The program and arguments that run it on the given core. */
export const onCore = (core: number, program: string, args: readonly string[]): readonly [string, readonly string[]] =>
  pinned() ? ["taskset", ["-c", String(core), program, ...args]] : [program, args];

/** Pins all threads of this process, which makes the load. Disposing restores the previous affinity. */
export const pinLoad = (): Disposable => {
  if (!pinned()) return { [Symbol.dispose]: () => undefined };
  const previous = /: *([\da-f,]+)\s*$/.exec(execFileSync("taskset", ["-p", String(process.pid)], { encoding: "utf8" }))?.[1] ?? "ffffffff";
  execFileSync("taskset", ["-a", "-c", "-p", String(LOAD_CORE), String(process.pid)]);
  return { [Symbol.dispose]: () => void execFileSync("taskset", ["-a", "-p", previous, String(process.pid)]) };
};
