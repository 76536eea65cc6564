// Owns: secrets in files that only their owner can read, each written whole or not at all. Does not own: what a secret is for.

import { createHmac, randomBytes } from "node:crypto";
import { closeSync, constants, fsyncSync, linkSync, lstatSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

// A link that somebody put there is never followed, and a file that is there is never written to.
const EXCLUSIVE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const KEY_BYTES = 32;

const create = (path: string, content: string | Uint8Array): void => {
  rmSync(path, { force: true });
  const file = openSync(path, EXCLUSIVE, 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (error) {
    // What a full disk left of it.
    rmSync(path, { force: true });
    throw error;
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
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(made, { force: true });
  }
};

/**
 * The 32 bytes in a file, created where there is none, so that what a client holds stays valid after a restart. A file of another length
 * or a link is replaced: `onReplaced` is called with the number of bytes there were, and with 0 where a file was `expected` and is missing.
 */
export const secretKeyIn = (path: string, expected: boolean, onReplaced: (bytes: number) => void): Buffer => {
  // A link is somebody else's doing, and so may be the key it leads to.
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFile() === true) {
    if (found.size === KEY_BYTES) return readFileSync(path);
    onReplaced(found.size);
  } else if (expected) onReplaced(0);
  const key = randomBytes(KEY_BYTES);
  replaceFile(path, key);
  return key;
};

/** Another key for another purpose, the same each time. */
export const derivedKey = (key: Uint8Array, purpose: string): Buffer => createHmac("sha256", key).update(purpose).digest();
