import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../contract/index.ts";
import { sqliteCode, storeFault } from "./sqlite-error.ts";

/** Opens the store at `path`; every fault becomes a `StoreError` that names it. */
export function guarded<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const cause = sqliteCode(error) === 14 ? (whyNotWritten(path) ?? error) : error;
    const system = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (system === "EACCES" || system === "EROFS" || system === "EPERM")
      throw new StoreError(
        "STORE_READ_ONLY",
        `The store ${path} cannot be written. Check who owns its directory and how the disk is mounted.`,
        { cause },
      );
    if (system === "ENOSPC" || system === "EDQUOT")
      throw new StoreError("STORE_FULL", `There is no space left for the store ${path}. Free some, then try again.`, { cause });
    if (system === "EMFILE" || system === "ENFILE")
      throw new StoreError("STORE_IO", `There is no file handle left to open ${path}. Raise the limit (ulimit -n), then start again.`, {
        cause,
      });
    const fault = storeFault(error);
    throw new StoreError(fault.code, `${path}: ${fault.message}`, { cause });
  }
}

/** SQLite says only that it could not open a file; the system says why. */
function whyNotWritten(path: string): unknown {
  try {
    // Nobody has locks on a folder, which would go where it is closed.
    closeSync(openSync(dirname(path), "r"));
    for (const file of [dirname(path), path, `${path}.lock`]) if (existsSync(file)) accessSync(file, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}
