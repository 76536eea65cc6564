import { closeSync, constants, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode } from "./text-file.ts";

// A link that somebody put there is never followed, and a file that is there is never written to.
const EXCLUSIVE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);

const create = (path: string, content: string | Uint8Array): void => {
  rmSync(path, { force: true });
  const file = openSync(path, EXCLUSIVE, 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Writes a file that only its owner can read, whole or not at all, in place of what has that name; a link is replaced, not followed. */
export const replaceFile = (path: string, content: string | Uint8Array): void => {
  create(`${path}.new`, content);
  renameSync(`${path}.new`, path);
  syncFolder(dirname(path));
};

/** What was renamed in it stays so. Throws the system's errors. */
export const syncFolder = (path: string): void => {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** The same where nothing has that name yet. False: something has, and stays. */
export const createFile = (path: string, content: string | Uint8Array): boolean => {
  const made = `${path}.${process.pid}.new`;
  create(made, content);
  try {
    linkSync(made, path);
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(made, { force: true });
  }
};
