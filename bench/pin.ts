// The server on one core and the load on another: else the system moves them, and a burst measures where it put them.
import { execFileSync, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { note } from "./table.ts";

export const SERVER_CORE = 0;
export const LOAD_CORE = 1;

let said = false;

/** Whether cores can be chosen here; says once that they cannot. */
const can = availableParallelism() > 1 && spawnSync("taskset", ["--version"]).status === 0;
const pinned = (): boolean => {
  if (!can && !said) note("taskset is not here, or there is one core: where server and load run is the system's choice.");
  said = true;
  return can;
};

/** A program and its arguments, so that it runs on that core alone. */
export const onCore = (core: number, program: string, args: readonly string[]): readonly [string, readonly string[]] =>
  pinned() ? ["taskset", ["-c", String(core), program, ...args]] : [program, args];

/** This process, which makes the load, with all of its threads; as it was when the scope ends. */
export const loadOnItsCore = (): Disposable => {
  if (!pinned()) return { [Symbol.dispose]: () => undefined };
  const had = /: *([\da-f,]+)\s*$/.exec(execFileSync("taskset", ["-p", String(process.pid)], { encoding: "utf8" }))?.[1] ?? "ffffffff";
  execFileSync("taskset", ["-a", "-c", "-p", String(LOAD_CORE), String(process.pid)]);
  return { [Symbol.dispose]: () => void execFileSync("taskset", ["-a", "-p", had, String(process.pid)]) };
};
