/** One directory of a guest's own. Nothing outside it is reached: not by `..`, not by an absolute path, not by a symbolic link. */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { WitValue } from "../wit.ts";
import type { Given } from "./given.ts";
import { checkedDirectory, inside, outside, type Place, placeOf, segmentsOf } from "./place.ts";
import { replaceFile, WRITING } from "./replace-file.ts";
import { ok, text } from "./values.ts";

export interface Directory {
  /** Absolute. Made when it is first used. */
  readonly root: string;
  readonly write: boolean;
  /** Of a file, read or written. */
  readonly maxBytes: number;
}

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const MOST_FILES = 10_000;

/** Of errors' codes: what Node itself says names places of the host. */
const SAID: Readonly<Record<string, string>> = {
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

type Act = (place: Place, directory: Directory, args: readonly WitValue[]) => Promise<WitValue>;

const READS: ReadonlyMap<string, Act> = new Map(
  Object.entries<Act>({
    "read-file": (place, { maxBytes }) =>
      opened(place, async (file) => {
        const { size } = await file.stat();
        if (size > maxBytes) throw new Error(`"${place.path}" has ${size} bytes, ${maxBytes} are given at once: keep smaller files.`);
        const { buffer, bytesRead } = await file.read(new Uint8Array(size), 0, size, 0);
        return buffer.subarray(0, bytesRead);
      }),
    "list-files": async (place) => {
      const names = (await readdir(await checkedDirectory(place))).filter((name) => !name.startsWith(WRITING));
      if (names.length > MOST_FILES) throw new Error(`"${place.path}" has more than ${MOST_FILES} files: use directories.`);
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
  }),
);

const WRITES: ReadonlyMap<string, Act> = new Map(
  Object.entries<Act>({
    "write-file": async (place, { maxBytes }, args) => {
      const content = Buffer.from(text(args[1]));
      if (content.length > maxBytes) throw new Error(`A file has at most ${maxBytes} bytes: write less.`);
      await replaceFile(place, content);
      return undefined;
    },
    "delete-file": async (place) => {
      await unlink(inside(place));
      return undefined;
    },
    "create-dir": async (place) => {
      await mkdir(inside(place));
      return undefined;
    },
    "delete-dir": async (place) => {
      inside(place);
      await rm(await checkedDirectory(place), { recursive: true });
      return undefined;
    },
  }),
);

/** `name`: of the interface's function. Throws with a sentence for the guest. */
export async function onFiles(name: string, args: readonly WitValue[], directory: Directory): Promise<Given> {
  const path = text(args[0]);
  const writes = WRITES.get(name);
  const act = writes ?? READS.get(name);
  if (act === undefined) throw new Error("Commands are not offered: let an actor that is no guest run them.");
  if (writes !== undefined && !directory.write) throw new Error("This directory is read only: its manifest grants no writing.");
  const segments = segmentsOf(path);
  try {
    await mkdir(directory.root, { recursive: true });
    const root = await realpath(directory.root);
    const place = await placeOf(root, path, segments).catch((error: unknown) => {
      if (name === "path-exists" && isErrno(error)) return undefined;
      throw error;
    });
    const value = place === undefined ? false : await act(place, directory, args);
    return { result: ok(value), lasting: writes !== undefined };
  } catch (error) {
    if (!isErrno(error)) throw error;
    throw new Error(`"${path}" ${SAID[error.code ?? ""] ?? "cannot be used"} (${error.code}).`, { cause: error });
  }
}

/** `O_NOFOLLOW` for the last name, and its parent looked at again: a link made meanwhile is not followed. */
async function opened<T>(place: Place, act: (file: FileHandle) => Promise<T>): Promise<T> {
  const whole = inside(place);
  const file = await open(whole, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`"${place.path}" is no file.`);
    const there = await lstat(whole);
    if ((await realpath(place.parent)) !== place.parent || there.ino !== found.ino || there.dev !== found.dev) throw outside(place.path);
    return await act(file);
  } finally {
    await file.close();
  }
}

const isErrno = (error: unknown): error is NodeJS.ErrnoException => error instanceof Error && "code" in error && "syscall" in error;
