import { randomBytes } from "node:crypto";
import type { ConsoleData } from "../bridges/console/index.ts";
import { systemClock } from "../core/contract/index.ts";
import type { DataDirectory } from "./data-directory.ts";

/** Where the console is served. */
export const CONSOLE = "/console";
/** Where the documentation is, in the package and in a checkout. */
export const DOCS = "docs/guide";
/** Measuring reads the sizes of files. */
const DISK_MS = 5_000;

/** Of one start: browsers keep what is behind `#` to themselves. */
export const consoleToken = (): string => randomBytes(32).toString("base64url");

export const consoleLink = (token: string | undefined): string => (token === undefined ? CONSOLE : `${CONSOLE}#token=${token}`);

/** What a data directory takes. */
export const diskOf = (directory: Pick<DataDirectory, "sizes">): NonNullable<ConsoleData["disk"]> => {
  let measured: { readonly at: number; readonly bytes: number } | undefined;
  return async () => {
    const at = systemClock.now();
    if (measured === undefined || at - measured.at >= DISK_MS)
      measured = { at, bytes: Object.values(directory.sizes()).reduce((sum, size) => sum + size, 0) };
    return { bytes: measured.bytes };
  };
};
