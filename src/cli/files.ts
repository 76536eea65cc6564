// Owns: reading and replacing files and making directories, and why that fails, in words. Does not own: secret files
// (core/store/secret-file.ts).
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { messageOf, stripBom } from "../core/contract/internal.ts";
import { usage } from "./command-error.ts";

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "its permissions do not allow it",
  EPERM: "its permissions do not allow it",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is no folder",
  ELOOP: "its links lead in a circle",
  EROFS: "the disk is mounted read-only",
  ENOSPC: "there is no space left",
  EDQUOT: "there is no space left",
};

/** The error code of the system, such as `ENOENT`. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

/** Why a file cannot be read, in words. */
export const whyUnreadable = (error: unknown): string => REASONS[systemCode(error) ?? ""] ?? messageOf(error);

/** Why a file cannot be created, in words. ENOENT then is about its folder; Node reports the same for folders on a read-only file system. */
export const whyUnwritable = (error: unknown): string =>
  systemCode(error) === "ENOENT" ? "the folder it would be in does not exist, or cannot be written" : whyUnreadable(error);

/** Reads a file that an option names. */
export const readTextFile = (path: string, option: string): string => {
  try {
    return stripBom(readFileSync(path, "utf8"));
  } catch (error) {
    throw usage(`${option}: ${path} cannot be read: ${whyUnreadable(error)}.`);
  }
};

/**
 * Creates a directory for this user only, with missing parents. Level by level, since Node's `recursive` never returns if a file system
 * reports ENOENT although the parent exists, as /proc does.
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

/** Replaces a file atomically: until the new one is complete, the old one stays. */
export const replaceFile = (file: string, contents: string | Uint8Array, mode: number): void => {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, contents, { flag: "wx", mode });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
};
