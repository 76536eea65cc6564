import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Clock } from "../../core/contract/index.ts";

export const hasEnded = (child: ChildProcess): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** SIGTERM, and SIGKILL where it is still there after `graceMs`. Settles when it has ended. */
export const endChild = async (child: ChildProcess, graceMs: number, clock: Clock): Promise<void> => {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  const undo = clock.after(graceMs, () => child.kill("SIGKILL"));
  child.kill("SIGTERM");
  await ended;
  undo();
};

/** SIGKILL. Settles when it has ended. */
export const killChild = async (child: ChildProcess): Promise<void> => {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
};
