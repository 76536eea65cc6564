import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
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
import { omitUndefined } from "../core/contract/internal.ts";
import { createFile, replaceFile, secretKeyIn } from "../core/store/secret-file.ts";
import { CommandError, EXIT, notFound } from "./command-error.ts";
import { makeDirectory, systemCode, whyUnreadable, whyUnwritable } from "./files.ts";
import { counted } from "./output.ts";

/** What a running server leaves for the commands beside it. */
interface ServerNote {
  readonly pid: number;
  readonly modules: readonly string[];
  /** What these modules define: actors of other kinds are not served. */
  readonly kinds?: readonly string[];
  /** Proves that this user wrote it. */
  readonly seal?: string;
}

/** Of databases also what lies beside them. */
const OWN_FILE = /^(?:(?:troupe|sessions|content|search|theater-sessions)\.db|key$|(?:server|failures)\.json$)/u;

const texts = (value: unknown): readonly string[] | undefined =>
  Array.isArray(value) ? value.filter((text) => typeof text === "string") : undefined;

/** 0 where there is none. */
const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const isFile = (path: string): CommandError =>
  new CommandError(EXIT.unavailable, "DATA_DIRECTORY", `The data directory ${path} is a file: name a folder with --data.`);

const withoutLinks = (path: string): string => {
  try {
    return realpathSync(path);
  } catch {
    // Not there yet, or not to be entered: using it says so.
    return path;
  }
};

/** Beside those that were listed. */
export const moreUnread = (count: number): StoreError =>
  new StoreError(
    "STORE_CORRUPT",
    `${counted(count, "actor")} more cannot be read: the store's file is damaged. "troupe verify" names them; restore it from a copy.`,
  );

/** The folder in which a server keeps everything: actors, sessions, its key, its socket. */
export class DataDirectory {
  #path: string;

  constructor(path: string) {
    this.#path = withoutLinks(resolve(path));
  }

  /** Without links: one may lead elsewhere before a server ends, and the files there are another server's. */
  get path(): string {
    return this.#path;
  }

  create(): void {
    try {
      makeDirectory(this.path);
      this.#path = withoutLinks(this.path);
    } catch (error) {
      if (systemCode(error) === "EEXIST") throw isFile(this.path);
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `The data directory ${this.path} cannot be made: ${whyUnwritable(error)}. Name another with --data.`,
      );
    }
  }

  /** Whether actors were ever kept here. Throws where nobody can tell. */
  holdsActors(): boolean {
    try {
      return statSync(this.actors).isFile();
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT") return false;
      if (code === "ENOTDIR") throw isFile(this.path);
      throw new CommandError(
        EXIT.unavailable,
        "DATA_DIRECTORY",
        `The data directory ${this.path} cannot be entered: ${whyUnreadable(error)}. Run this as the user whose server has it, or name another with --data.`,
      );
    }
  }

  /**
   * Throws where a server has kept actors here and their file has gone or is empty: whoever opened it would begin a new world
   * without a word, and SQLite would delete the log that lies beside it.
   */
  refuseLoss(): void {
    if (this.readNote() === undefined || sizeOf(this.actors) > 0) return;
    throw new StoreError(
      "STORE_CORRUPT",
      `A server has kept actors in ${this.path}, and ${basename(this.actors)} has gone or is empty. Restore it from a copy; to begin anew, remove server.json, too.`,
    );
  }

  /** Whether a server keeps something at that path, whose folder may be named through links. */
  isOwnFile(path: string): boolean {
    return OWN_FILE.test(basename(path)) && realpathSync(dirname(path)) === realpathSync(this.path);
  }

  /** Throws unless actors are stored here. */
  requireActors(): void {
    this.refuseLoss();
    if (!this.holdsActors()) throw this.noActors();
  }

  noActors(): CommandError {
    return notFound(`There are no actors in ${this.path}: name the directory with --data, or serve something on disk first.`);
  }

  get actors(): string {
    return join(this.path, "troupe.db");
  }

  /** What guests hold. */
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

  /** Made of the chains, and made anew where it is missing. */
  get search(): string {
    return join(this.path, "search.db");
  }

  dropSearch(): void {
    for (const end of ["", "-wal", "-shm"]) rmSync(this.search + end, { force: true });
  }

  get control(): string {
    return join(this.path, "control.sock");
  }

  /** Bytes of each of its files that grows. */
  sizes(): Readonly<Record<string, number>> {
    const stores = [this.actors, this.sessions, this.contents, this.search, join(this.path, "theater-sessions.db")];
    const sizes = stores.flatMap((file) => [file, `${file}-wal`]).map((file): [string, number] => [basename(file), sizeOf(file)]);
    return Object.fromEntries(sizes.filter(([, size]) => size > 0));
  }

  /**
   * 32 bytes that outlive a restart, so that what a client holds stays valid. Readable by the owner only. `onReplaced`
   * is told how many bytes there were where they were not 32, none where a server had a key here: another stands in for it.
   */
  key(onReplaced: (bytes: number) => void): Buffer {
    return secretKeyIn(join(this.path, "key"), this.readNote() !== undefined, onReplaced);
  }

  /** Whether others than its owner may put files here: they could exchange actors, keys and notes. */
  get isOpenToOthers(): boolean {
    return othersMayWrite(this.path);
  }

  writeNote(note: Omit<ServerNote, "seal">): void {
    replaceFile(this.#note, JSON.stringify({ ...note, ...omitUndefined({ seal: sealNote(this.path, note.modules) }) }));
  }

  /** What the console stores of actors that have failed: for the next start. */
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

  /** Stays after the server's end: it names the modules whose actors lie here. */
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

  /** Whether only this user can have written the note. Modules that another's names are shown, but not loaded. */
  trusts({ modules, seal }: ServerNote): boolean {
    return isSealed(this.#note, modules, seal);
  }
}

/** What Troupe itself writes there is shorter. */
const MOST_NOTE_BYTES = 16 * 1_048_576;

/** The text of a file that someone else may have written. Undefined: it cannot be read, or is no such file. */
function readNoteFile(path: string): string | undefined {
  try {
    // Whoever opens a pipe waits for somebody at its other end. And a file of gigabytes takes no room on a disk if it has holes.
    const found = statSync(path);
    return found.isFile() && found.size <= MOST_NOTE_BYTES ? readFileSync(path, "utf8") : undefined;
  } catch {
    return undefined;
  }
}

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
