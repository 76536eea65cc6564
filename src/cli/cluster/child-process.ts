// Owns: child processes and temporary folders that end with this process. Does not own: what the children run.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "../../core/contract/index.ts";

export const hasEnded = (child: ChildProcess): boolean => child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** Sends SIGTERM, and SIGKILL after `graceMs`. Settles when the child has ended. */
export const endChild = async (child: ChildProcess, graceMs: number, clock: Clock): Promise<void> => {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  const undo = clock.after(graceMs, () => child.kill("SIGKILL"));
  child.kill("SIGTERM");
  await ended;
  undo();
};

/** Sends SIGKILL. Settles when the child has ended. */
export const killChild = async (child: ChildProcess): Promise<void> => {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
};

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

const children = new Set<ChildProcess>();
const folders = new Set<string>();

const endAll = (): void => {
  for (const child of children) child.kill("SIGKILL");
  // A killed process may still write for a moment.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
};

const signalled = (signal: NodeJS.Signals): void => {
  // Another listener ends this process in its own time, and the `exit` handler runs then.
  if (process.listenerCount(signal) > 1) return;
  endAll();
  removeHandlers();
  process.kill(process.pid, signal);
};

const watch = (): void => {
  if (children.size + folders.size > 0) return;
  process.on("exit", endAll);
  for (const signal of SIGNALS) process.on(signal, signalled);
};

const removeHandlers = (): void => {
  process.removeListener("exit", endAll);
  for (const signal of SIGNALS) process.removeListener(signal, signalled);
};

const unwatch = (): void => {
  if (children.size + folders.size === 0) removeHandlers();
};

/** Kills the child when this process ends, unless this process is killed with SIGKILL. */
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

/** Removes the folder when this process ends, unless it is killed with SIGKILL. Returns a function to call once the folder is removed. */
const removeWithProcess = (folder: string): (() => void) => {
  watch();
  folders.add(folder);
  return () => {
    folders.delete(folder);
    unwatch();
  };
};

/** A temporary folder that is removed on disposal, or when this process ends. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;
  readonly #forget: () => void;

  private constructor(path: string) {
    this.path = path;
    this.#forget = removeWithProcess(path);
  }

  static async make(prefix: string): Promise<TemporaryFolder> {
    return new TemporaryFolder(await mkdtemp(join(tmpdir(), prefix)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    this.#forget();
  }
}
