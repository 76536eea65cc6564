import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "./text-file.ts";

/**
 * Creates a directory for this user alone, with the parents it lacks. Level by level: Node's own `recursive` never returns
 * where a file system answers ENOENT although the parent exists, as /proc does.
 */
export const makeDirectory = (path: string): void => {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = systemCode(error);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || statSync(parent, { throwIfNoEntry: false }) !== undefined) throw error;
    makeDirectory(parent);
    makeDirectory(path);
  }
};
