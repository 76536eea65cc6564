import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

const endAll = (): void => {
  for (const child of children) child.kill("SIGKILL");
  // What was killed may write for a moment longer.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
};

const signalled = (signal: NodeJS.Signals): void => {
  // Whoever else listens ends this process in its own time, and `exit` comes then.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  deaf();
  process.kill(process.pid, signal);
};

const watch = (): void => {
  if (children.size + folders.size > 0) return;
  process.on("exit", endAll);
  for (const signal of SIGNALS) process.on(signal, signalled);
};

const deaf = (): void => {
  process.removeListener("exit", endAll);
  for (const signal of SIGNALS) process.removeListener(signal, signalled);
};

const unwatch = (): void => {
  if (children.size + folders.size === 0) deaf();
};

/** The child ends with this process, however that ends short of SIGKILL. */
export const endWithProcess = (child: ChildProcess): void => {
  watch();
  children.add(child);
  const over = (): void => {
    children.delete(child);
    unwatch();
  };
  child.once("exit", over);
  child.once("error", over);
};

/** The folder goes with this process, however that ends short of SIGKILL. Returns what is called when it is gone. */
export const removeWithProcess = (folder: string): (() => void) => {
  watch();
  folders.add(folder);
  return () => {
    folders.delete(folder);
    unwatch();
  };
};
