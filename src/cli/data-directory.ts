// Owns: the files of a data directory, and the sealed note that names its server's modules. Does not own: what is in the stores
// (core/store).
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { isJsonObject, StoreError } from "../core/contract/index.ts";
import { counted, omitUndefined } from "../core/contract/internal.ts";
import { createFile, replaceFile, secretKeyIn } from "../core/store/secret-file.ts";
import { CommandError, EXIT, notFound } from "./command-error.ts";
import { makeDirectory, systemCode, whyUnreadable, whyUnwritable } from "./files.ts";
import { shellWord } from "./output.ts";

/** What a server stores for commands on its directory. */
interface ServerNote {
  readonly pid: number;
  readonly modules: readonly string[];
  /** The kinds that these modules define; actors of other kinds are not served. */
  readonly kinds?: readonly string[];
  /** A MAC that proves that this user wrote it. */
  readonly seal?: string;
}

/** Names of store files, databases with their logs included. */
const OWN_FILE = /^(?:(?:troupe|sessions|content|search|theater-sessions)\.db|key$|(?:server|failures)\.json$)/u;

const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((text) => typeof text === "string") : undefined;

/** 0 if there is none. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The place of `user_version` in SQLite's header; 0 before the first script has run. Opening the file would delete the log next to it. */
const SCHEMA_VERSION_AT = 60;

/**
 * True if the store has no tables. A young store's are in its log alone, so a copy without the log is an empty database. A killed server's
 * record says that its log is missing, which is reported otherwise (core/store/log-loss.ts).
 */
const isWithoutActors = (path: string): boolean => {
  if (sizeOf(path) === 0) return true;
  if (sizeOf(`${path}-wal`) > 0 || existsSync(`${path}.pid`)) return false;
  const version = Buffer.alloc(4, 1);
  const file = openSync(path, "r");
  try {
    readSync(file, version, 0, version.length, SCHEMA_VERSION_AT);
  } finally {
    closeSync(file);
  }
  return version.readUInt32BE() === 0;
};

const notADirectory = (path: string): CommandError =>
  new CommandError(
    EXIT.unavailable,
    "DATA_DIRECTORY",
    `The data directory ${path} is a file: name a folder with --data.${/\.jsonl(?:\.gz)?$/.test(path) ? ` To verify an export, run "troupe import ${shellWord(path)} --dry-run".` : ""}`,
  );

const resolveLinks = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    // Missing or not accessible: using it gives the error.
    return path;
  }
};

/** The error after a list that could not include all actors. */
export const unreadableActors = (count: number): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `${counted(count, "actor")} more cannot be read: the store's file is damaged. "troupe verify" names them; restore it from a copy.`,
  );

/** The folder of a server: stores, key, note and socket. */
export class DataDirectory {
  #path: string;

  constructor(path: string) {
    this.#path = resolveLinks(resolve(path));
  }

  /** With links resolved at the start: a link may change before the server ends, and then the files there are another server's. */
  get path(): string {
    return this.#path;
  }

  create(): void {
    try {
      makeDirectory(this.path);
      this.#path = resolveLinks(this.path);
    } catch (error) {
      if (systemCode(error) === "EEXIST") throw notADirectory(this.path);
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `The data directory ${this.path} cannot be made: ${whyUnwritable(error)}. Name another with --data.`,
      );
    }
  }

  /** Whether actors were ever stored here. Throws if that cannot be determined. */
  holdsActors(): boolean {
    try {
      return statSync(this.actors).isFile();
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT") return false;
      if (code === "ENOTDIR") throw notADirectory(this.path);
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `The data directory ${this.path} cannot be entered: ${whyUnreadable(error)}. Run this as the user whose server has it, or name another with --data.`,
      );
    }
  }

  /**
   * Throws if a server has stored actors here and their file is missing or empty. Opening it would silently create a new store, and SQLite
   * would delete the log next to it.
   */
  refuseMissingStore(): void {
    if (this.readNote() === undefined || !isWithoutActors(this.actors)) return;
    throw new StoreError(
      "STORE_CORRUPT",
      `A server has kept actors in ${this.path}, and ${basename(this.actors)} has gone or is empty. Restore it from a copy, with the troupe.db-wal of that copy; to begin anew, remove server.json, too.`,
    );
  }

  /** Whether that path is one of the store's files, also if its folder is named through links. */
  isStoreFile(path: string): boolean {
    return OWN_FILE.test(basename(path)) && realpathSync(dirname(path)) === realpathSync(this.path);
  }

  /** Throws unless actors are stored here. */
  requireActors(): void {
    this.refuseMissingStore();
    if (!this.holdsActors()) throw this.noActors();
  }

  noActors(): CommandError {
    return notFound(`There are no actors in ${this.path}: name the directory with --data, or serve something on disk first.`);
  }

  get actors(): string {
    return join(this.path, "troupe.db");
  }

  /** Contents of guests. */
  get contents(): string {
    return join(this.path, "content.db");
  }

  holdsContents(): boolean {
    return sizeOf(this.contents) > 0;
  }

  get sessions(): string {
    return join(this.path, "sessions.db");
  }

  get holdsSessions(): boolean {
    return sizeOf(this.sessions) > 0;
  }

  /** The search index. Built from the chains if it is missing. */
  get search(): string {
    return join(this.path, "search.db");
  }

  deleteSearchIndex(): void {
    for (const end of ["", "-wal", "-shm"]) rmSync(this.search + end, { force: true });
  }

  get control(): string {
    return join(this.path, "control.sock");
  }

  /** Sizes of the files that grow, in bytes. */
  sizes(): Readonly<Record<string, number>> {
    const stores = [this.actors, this.sessions, this.contents, this.search, join(this.path, "theater-sessions.db")];
    const sizes = stores.flatMap((file) => [file, `${file}-wal`]).map((file): [string, number] => [basename(file), sizeOf(file)]);
    return Object.fromEntries(sizes.filter(([, size]) => size > 0));
  }

  /**
   * A key of 32 bytes that survives restarts, so that what clients hold stays valid. Readable by the owner only. `onReplaced` is called if a
   * damaged or missing key was replaced, with the number of bytes that there were.
   */
  key(onReplaced: (bytes: number) => void): Buffer {
    return secretKeyIn(join(this.path, "key"), this.readNote() !== undefined, onReplaced);
  }

  /** Whether others than the owner may write here, and so replace stores, keys and notes. */
  get isOpenToOthers(): boolean {
    return othersMayWrite(this.path);
  }

  writeNote(note: Omit<ServerNote, "seal">): void {
    replaceFile(this.#note, JSON.stringify({ ...note, ...omitUndefined({ seal: sealNote(this.path, note.modules) }) }));
  }

  /** The console's record of failed actors, for the next start. */
  readFailures(): string {
    return readNoteFile(this.#failures) ?? "";
  }

  writeFailures(text: string): void {
    replaceFile(this.#failures, text);
  }

  get #failures(): string {
    return join(this.path, "failures.json");
  }

  get #note(): string {
    return join(this.path, "server.json");
  }

  /** The note stays after the server's end: it names the modules of the actors in the directory. */
  readNote(): ServerNote | undefined {
    try {
      const note: unknown = JSON.parse(readNoteFile(this.#note) ?? "");
      if (!isJsonObject(note)) return undefined;
      const { pid, modules, kinds, seal } = note;
      return {
        pid: typeof pid === "number" ? pid : 0,
        modules: texts(modules) ?? [],
        ...omitUndefined({ kinds: texts(kinds), seal: typeof seal === "string" ? seal : undefined }),
      };
    } catch {
      return undefined;
    }
  }

  /** Whether only this user can have written the note. Modules of other notes are printed, not loaded. */
  trusts({ modules, seal }: ServerNote): boolean {
    return isSealed(this.#note, modules, seal);
  }
}

/** Troupe itself writes less. */
const MOST_NOTE_BYTES = 16 * 1_048_576;

/** The text of a file that someone else may have written. Undefined if it cannot be read or is not a plain file of that size. */
function readNoteFile(path: string): string | undefined {
  try {
    // Opening a pipe would block, and a sparse file of gigabytes can be planted without using disk space.
    const found = statSync(path);
    return found.isFile() && found.size <= MOST_NOTE_BYTES ? readFileSync(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

/*
 * Commands load the modules that a note in the data directory names, so the note carries a MAC under a secret of this user, which is stored
 * outside the directory. A repository, an unpacked archive or another user can bring a note, but not its MAC.
 */

const SECRET_BYTES = 32;
const OTHERS_WRITE = 0o022;
const OTHERS = 0o077;

type Env = Readonly<Record<string, string | undefined>>;

/** Undefined on Windows, where files have neither owner nor mode: there every file counts as the user's. */
const currentUserId = (): number | undefined => process.getuid?.();
const isMine = ({ uid }: Stats): boolean => currentUserId() === undefined || uid === currentUserId();
const hasMode = ({ mode }: Stats, bits: number): boolean => currentUserId() !== undefined && (mode & bits) !== 0;

/** Whether anyone but this user and root may write to the directory. */
export const othersMayWrite = (directory: string): boolean => {
  const found = lstatSync(realpathSync(directory));
  return hasMode(found, OTHERS_WRITE) || (!isMine(found) && found.uid !== 0);
};

const secretFile = (env: Env): string => {
  const { XDG_STATE_HOME: state } = env;
  return join(state !== undefined && isAbsolute(state) ? state : join(homedir(), ".local", "state"), "troupe", "note-key");
};

/** Undefined if there is no secret, or others may have read it. */
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
    if (!found.isFile() || !isMine(found) || hasMode(found, OTHERS) || found.size !== SECRET_BYTES) return undefined;
    const secret = Buffer.alloc(SECRET_BYTES);
    return readSync(file, secret, 0, SECRET_BYTES, 0) === SECRET_BYTES ? secret : undefined;
  } finally {
    closeSync(file);
  }
};

const createSecret = (path: string): Buffer | undefined => {
  try {
    makeDirectory(dirname(path));
    createFile(path, randomBytes(SECRET_BYTES));
  } catch {
    // Without a writable home notes are not sealed, and commands need --module.
  }
  return readSecret(path);
};

// Covers the path too: a copied directory is not where its owner served it.
const sealWith = (secret: Buffer, directory: string, modules: readonly string[]): string =>
  createHmac("sha256", secret)
    .update(JSON.stringify([realpathSync(directory), modules]))
    .digest("hex");

/** The MAC of the modules that a server of this user serves from a directory; undefined without a usable secret. */
export const sealNote = (directory: string, modules: readonly string[], env: Env = process.env): string | undefined => {
  const path = secretFile(env);
  const secret = readSecret(path) ?? createSecret(path);
  return secret && sealWith(secret, directory, modules);
};

/** Whether only this user can have written the note: its MAC is right, and no one else may write to the directory or the note. */
export const isSealed = (note: string, modules: readonly string[], seal: string | undefined, env: Env = process.env): boolean => {
  const secret = seal === undefined ? undefined : readSecret(secretFile(env));
  if (seal === undefined || secret === undefined) return false;
  const found = lstatSync(note, { throwIfNoEntry: false });
  if (found?.isFile() !== true || !isMine(found) || hasMode(found, OTHERS_WRITE) || othersMayWrite(dirname(note))) return false;
  const [given, expected] = [Buffer.from(seal), Buffer.from(sealWith(secret, dirname(note), modules))];
  return given.length === expected.length && timingSafeEqual(given, expected);
};
