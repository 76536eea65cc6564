// Removes temporary folders and kills child processes when the process ends, including after Ctrl-C.
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folders = new Set<string>();
const children = new Set<ChildProcess>();

process.on("exit", () => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) remove(folder);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(130));

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });

export interface Folder extends Disposable {
  readonly path: string;
}

/** A new directory. It is removed when it is disposed, at the latest when the process ends. */
export const temporaryFolder = (): Folder => {
  const path = mkdtempSync(join(tmpdir(), "troupe-bench-"));
  folders.add(path);
  return {
    path,
    [Symbol.dispose]() {
      remove(path);
      folders.delete(path);
    },
  };
};

/** Kills the child when this process ends. */
export const killAtExit = <T extends ChildProcess>(child: T): T => {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
};
