// Owns: the interface `filesystem`: files in one directory of a guest, which no path can leave.
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, mkdtemp, open, readdir, realpath, rename, rm, unlink } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { getOwn } from "../../../core/contract/internal.ts";
import type { WitValue } from "../wit.ts";
import type { Grants } from "../manifest/manifest.ts";
import { ok, asText } from "./values.ts";
import type { ImportResult } from "../sandbox.ts";
import type { CallEnvironment } from "./call-environment.ts";

export interface Directory {
  /** Absolute. Created at its first use. */
  readonly root: string;
  readonly write: boolean;
  /** The largest file that can be read or written. */
  readonly maxBytes: number;
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const MAX_FILES = 10_000;

/** By error code. Node's own messages would reveal paths of the host. */
const ERROR_TEXT: Readonly<Record<string, string>> = {
  ENOENT: "is not there",
  ENOTDIR: "is no directory, or lies below a file",
  EISDIR: "is a directory",
  EEXIST: "is there already",
  ENOTEMPTY: "is not empty",
  ELOOP: "is a symbolic link",
  EACCES: "may not be touched",
  EPERM: "may not be touched",
  ENAMETOOLONG: "has too long a name",
  ENOSPC: "finds no space left",
};

type FileOperation = (place: ResolvedPath, directory: Directory, args: readonly WitValue[]) => Promise<WitValue>;

const READS: Readonly<Record<string, FileOperation>> = {
  "read-file": (place, { maxBytes }) =>
    withFile(place, async (file) => {
      const { size } = await file.stat();
      if (size > maxBytes) throw new Error(`"${place.path}" has ${size} bytes, ${maxBytes} are given at once: keep smaller files.`);
      const { buffer, bytesRead } = await file.read(new Uint8Array(size), 0, size, 0);
      return buffer.subarray(0, bytesRead);
    }),
  "list-files": async (place) => {
    const names = (await readdir(await checkedDirectory(place))).filter((name) => !name.startsWith(TEMPORARY_PREFIX));
    if (names.length > MAX_FILES) throw new Error(`"${place.path}" has more than ${MAX_FILES} files: use directories.`);
    return names.toSorted();
  },
  "path-exists": async (place) => {
    try {
      await lstat(join(place.parent, place.name));
      return true;
    } catch {
      return false;
    }
  },
};

const WRITES: Readonly<Record<string, FileOperation>> = {
  "write-file": async (place, { maxBytes }, args) => {
    const content = Buffer.from(asText(args[1]));
    if (content.length > maxBytes) throw new Error(`A file has at most ${maxBytes} bytes: write less.`);
    await replaceFile(place, content);
    return undefined;
  },
  "delete-file": async (place) => {
    await unlink(pathOf(place));
    return undefined;
  },
  "create-dir": async (place) => {
    await mkdir(pathOf(place));
    return undefined;
  },
  "delete-dir": async (place) => {
    pathOf(place);
    await rm(await checkedDirectory(place), { recursive: true });
    return undefined;
  },
};

/** Calls a function of the interface. Throws an error with a message for the guest. */
export async function callFilesystem(name: string, args: readonly WitValue[], directory: Directory): Promise<ImportResult> {
  const path = asText(args[0]);
  const writes = getOwn(WRITES, name);
  const act = writes ?? getOwn(READS, name);
  if (act === undefined) throw new Error("Commands are not offered: let an actor that is no guest run them.");
  if (writes !== undefined && !directory.write) throw new Error("This directory is read only: its manifest grants no writing.");
  const segments = segmentsOf(path);
  try {
    await mkdir(directory.root, { recursive: true });
    const root = await realpath(directory.root);
    const place = await resolvePath(root, path, segments).catch((error: unknown) => {
      if (name === "path-exists" && isErrno(error)) return undefined;
      throw error;
    });
    const value = place === undefined ? false : await act(place, directory, args);
    return { result: ok(value), lasting: writes !== undefined };
  } catch (error) {
    if (!isErrno(error)) throw error;
    throw new Error(`"${path}" ${ERROR_TEXT[error.code ?? ""] ?? "cannot be used"} (${error.code}).`, { cause: error });
  }
}

/** Opens a file for `act`. `O_NOFOLLOW` for the last segment, and a second check of its parent, exclude links created meanwhile. */
async function withFile<T>(place: ResolvedPath, act: (file: FileHandle) => Promise<T>): Promise<T> {
  const whole = pathOf(place);
  const file = await open(whole, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`"${place.path}" is no file.`);
    const there = await lstat(whole);
    if ((await realpath(place.parent)) !== place.parent || there.ino !== found.ino || there.dev !== found.dev)
      throw outsideError(place.path);
    return await act(file);
  } finally {
    await file.close();
  }
}

const isErrno = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "code" in error && "syscall" in error;

/** The directory of a guest: that of its manifest, else a private one. Each life has its own, since it may run another component. */
export function directoryOf({ options, life }: CallEnvironment, { path, write }: NonNullable<Grants["filesystem"]>): Directory {
  const maxBytes = options.limits.hostBytes;
  if (path !== undefined) return { root: path, write, maxBytes };
  if (options.directory === undefined)
    throw new Error("There are no files for guests here: name a directory in the manifest, or start Troupe with one for them.");
  return { root: join(options.directory, life), write, maxBytes };
}

const MAX_PATH = 4_096;

/** A path with its parent directory resolved, without symbolic links. */
interface ResolvedPath {
  readonly path: string;
  readonly parent: string;
  readonly name: string;
}

function segmentsOf(path: string): readonly string[] {
  if (path.length > MAX_PATH || path.includes("\0")) throw new Error("This is no path: write names with / between them.");
  if (path.startsWith("/") || path.includes("\\")) throw new Error(`"${path}" leaves the guest's directory: paths are relative to it.`);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) throw new Error(`"${path}" leaves the guest's directory: ".." is not followed.`);
  return segments;
}

async function resolvePath(root: string, path: string, segments: readonly string[]): Promise<ResolvedPath> {
  if (segments.length === 0) return { path, parent: root, name: "." };
  const whole = join(root, ...segments);
  const parent = await realpath(dirname(whole));
  if (parent !== root && !parent.startsWith(root.endsWith(sep) ? root : root + sep)) throw outsideError(path);
  return { path, parent, name: basename(whole) };
}

const outsideError = (path: string): Error =>
  new Error(`"${path}" leads outside the guest's directory by a symbolic link: it is not followed.`);

/** Refuses the root itself, which cannot be created or deleted. */
function pathOf({ path, parent, name }: ResolvedPath): string {
  if (name === ".") throw new Error(`"${path}" is the guest's directory itself: name something in it.`);
  return join(parent, name);
}

async function checkedDirectory({ path, parent, name }: ResolvedPath): Promise<string> {
  const whole = name === "." ? parent : join(parent, name);
  if ((await lstat(whole)).isSymbolicLink()) throw outsideError(path);
  return whole;
}

const DEFAULT_MODE = 0o600;

/** Prefix of the temporary directory in which a new file is written. */
export const TEMPORARY_PREFIX = ".troupe-writing-";

/** Replaces a file atomically, also if it is interrupted. Does not follow a symbolic link. */
async function replaceFile(place: ResolvedPath, content: Uint8Array): Promise<void> {
  const whole = pathOf(place);
  const mode = await modeOf(whole, place.path);
  const folder = await mkdtemp(join(place.parent, TEMPORARY_PREFIX));
  try {
    // Checked again, in case its parent was replaced by a link meanwhile.
    if ((await realpath(folder)) !== folder) throw outsideError(place.path);
    const written = join(folder, "content");
    {
      await using file = await open(written, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, DEFAULT_MODE);
      await file.writeFile(content);
      if (mode !== DEFAULT_MODE) await file.chmod(mode);
      // Otherwise the rename could survive a crash while the content does not.
      await file.datasync();
    }
    await rename(written, whole);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The mode of the file that is replaced. Throws if it is not a file. */
async function modeOf(whole: string, path: string): Promise<number> {
  const found = await lstat(whole).catch((error: unknown) => {
    if (isErrno(error) && error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found === undefined) return DEFAULT_MODE;
  if (found.isSymbolicLink()) throw outsideError(path);
  if (!found.isFile()) throw new Error(`"${path}" is no file.`);
  return found.mode & 0o777;
}
