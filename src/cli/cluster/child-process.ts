import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
const removeWithProcess = (folder: string): (() => void) => {
  watch();
  folders.add(folder);
  return () => {
    folders.delete(folder);
    unwatch();
  };
};

/** A folder of one's own until it is disposed of, or this process ends. */
export class TemporaryFolder implements AsyncDisposable {
  readonly path: string;
  readonly #gone: () => void;

  private constructor(path: string) {
    this.path = path;
    this.#gone = removeWithProcess(path);
  }

  static async make(prefix: string): Promise<TemporaryFolder> {
    return new TemporaryFolder(await mkdtemp(join(tmpdir(), prefix)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    this.#gone();
  }
}
