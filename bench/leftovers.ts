// What a bench leaves on the machine is gone when its process ends, however it ends: Ctrl-C too.
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

/** A new directory, which goes with the scope that asked. */
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

/** It does not outlive this process. */
export const ours = <T extends ChildProcess>(child: T): T => {
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
};
