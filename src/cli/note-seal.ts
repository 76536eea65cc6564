import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, realpathSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { makeDirectory } from "./files.ts";
import { createFile } from "../core/store/secret-file.ts";

/*
 * Commands load modules that a note in the data directory names, so the note is sealed: a MAC under a secret of this user that lies
 * outside the directory. A repository, an unpacked archive or another user can bring a note, but not its seal.
 */

const SECRET_BYTES = 32;
const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;

type Env = Readonly<Record<string, string | undefined>>;

/** Where nothing has an owner or a mode (Windows), directories of a user are that user's. */
const me = (): number | undefined => process.getuid?.();
const isMine = ({ uid }: Stats): boolean => me() === undefined || uid === me();
const has = ({ mode }: Stats, bits: number): boolean => me() !== undefined && (mode & bits) !== 0;

/** Somebody else than this user, or the system's administrator, may put files into the directory. */
export const othersMayWrite = (directory: string): boolean => {
  const found = lstatSync(realpathSync(directory));
  return has(found, OTHERS_WRITE) || (!isMine(found) && found.uid !== 0);
};

const secretFile = (env: Env): string => {
  const { XDG_STATE_HOME: state } = env;
  return join(state !== undefined && isAbsolute(state) ? state : join(homedir(), ".local", "state"), "troupe", "note-key");
};

/** Undefined: there is none, or it is one that others may know. */
const readSecret = (path: string): Buffer | undefined => {
  let file: number;
  try {
    if (othersMayWrite(dirname(path))) return undefined;
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile() || !isMine(found) || has(found, OTHERS) || found.size !== SECRET_BYTES) return undefined;
    const secret = Buffer.alloc(SECRET_BYTES);
    return readSync(file, secret, 0, SECRET_BYTES, 0) === SECRET_BYTES ? secret : undefined;
  } finally {
    closeSync(file);
  }
};

const madeSecret = (path: string): Buffer | undefined => {
  try {
    makeDirectory(dirname(path));
    createFile(path, randomBytes(SECRET_BYTES));
  } catch {
    // A home that cannot be written to: notes are not sealed, and commands ask for their modules.
  }
  return readSecret(path);
};

// Of the place, too: a directory that was copied elsewhere is no more where its owner served it.
const sealWith = (secret: Buffer, directory: string, modules: readonly string[]): string =>
  createHmac("sha256", secret)
    .update(JSON.stringify([realpathSync(directory), modules]))
    .digest("hex");

/** Of the modules that a server of this user serves from a directory; undefined where its secret cannot be had. */
export const sealNote = (directory: string, modules: readonly string[], env: Env = process.env): string | undefined => {
  const path = secretFile(env);
  const secret = readSecret(path) ?? madeSecret(path);
  return secret && sealWith(secret, directory, modules);
};

/** Whether only this user can have written the note: its seal fits, and nobody else may write to the directory or the note. */
export const isSealed = (note: string, modules: readonly string[], seal: string | undefined, env: Env = process.env): boolean => {
  const secret = seal === undefined ? undefined : readSecret(secretFile(env));
  if (seal === undefined || secret === undefined) return false;
  const found = lstatSync(note, { throwIfNoEntry: false });
  if (found?.isFile() !== true || !isMine(found) || has(found, OTHERS_WRITE) || othersMayWrite(dirname(note))) return false;
  const [given, expected] = [Buffer.from(seal), Buffer.from(sealWith(secret, dirname(note), modules))];
  return given.length === expected.length && timingSafeEqual(given, expected);
};
