/** Files below one directory. Nothing else is reached: not by `..`, not by an absolute path, not by a symbolic link. */
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { ManifestError } from "./manifest-error.ts";
import { shown } from "./reference.ts";

const LONGEST_PATH = 4_096;

/** Outside, absent and unreadable look the same: who asks learns nothing of what lies elsewhere. */
const absent = (path: string, cause?: unknown): ManifestError =>
  new ManifestError("NOT_FOUND", `${shown(path)} is no file below the manifests directory. Check its name, or put it there.`, undefined, {
    cause,
  });

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

export class ManifestDirectory {
  readonly #directory: string | undefined;
  readonly #closed: readonly string[];

  /** `closed`: directories from which nothing is read, though they lie below it. */
  constructor(directory: string | undefined, closed: readonly string[] = []) {
    this.#directory = directory === undefined ? undefined : resolve(directory);
    this.#closed = closed.map((one) => resolve(one));
  }

  get open(): boolean {
    return this.#directory !== undefined;
  }

  /** Its bytes, and its path from the directory without any symbolic link. `from`: such a path, of a file beside which it is looked for. */
  async read(path: string, most: number, from = ""): Promise<{ readonly bytes: Uint8Array; readonly path: string }> {
    const root = await this.#root(path);
    if (path.length > LONGEST_PATH || path.includes("\0")) throw absent(path);
    const written = isAbsolute(path) ? path : join(root, dirname(from), path);
    const closed = await this.#closedBelow(root);
    // As it is written: whether it is there is not told.
    if (closed.some((one) => isWithin(resolve(written), one))) throw shut(path);
    const real = await realpath(written).catch((error: unknown) => {
      throw absent(path, error);
    });
    if (real === root || !isWithin(real, root) || closed.some((one) => isWithin(real, one))) throw absent(path);
    return { bytes: await this.#bytes(real, path, most), path: relative(root, real) };
  }

  /** One that is not there yet holds nothing; one that holds the manifests is their operator's choice. */
  async #closedBelow(root: string): Promise<readonly string[]> {
    const real = await Promise.all(this.#closed.map((one) => realpath(one).catch(() => undefined)));
    return real.flatMap((one) => (one !== undefined && isWithin(one, root) ? [one] : []));
  }

  /** Where a directory lies that a manifest names. */
  async directory(path: string, from: string): Promise<string> {
    const root = await this.#root(path);
    try {
      return await realpath(resolve(root, dirname(from), path));
    } catch (error) {
      throw new ManifestError("NOT_FOUND", `There is no directory ${shown(path)}. Make it first.`, undefined, { cause: error });
    }
  }

  async #root(asked: string): Promise<string> {
    if (this.#directory === undefined)
      throw new ManifestError(
        "NOT_ALLOWED",
        `${shown(asked)} is a path, and no directory is open for manifests here: start Troupe with --manifests DIR, or give the manifest's text itself.`,
      );
    try {
      return await realpath(this.#directory);
    } catch (error) {
      throw new ManifestError(
        "NOT_FOUND",
        "The directory of manifests is not there. Make it, or name another with --manifests.",
        undefined,
        {
          cause: error,
        },
      );
    }
  }

  /** Without waiting for a pipe, and by the path that was checked: a link put there meanwhile is not followed. */
  async #bytes(real: string, path: string, most: number): Promise<Uint8Array> {
    try {
      await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const found = await file.stat();
      if (!found.isFile()) throw absent(path);
      if (found.size > most) throw tooLarge(path, found.size, most);
      // One more: it may grow while it is read.
      const { buffer, bytesRead } = await file.read(new Uint8Array(found.size + 1), 0, found.size + 1, 0);
      if (bytesRead > most) throw tooLarge(path, bytesRead, most);
      if ((await realpath(real)) !== real) throw absent(path);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw error instanceof ManifestError ? error : absent(path, error);
    }
  }
}

const shut = (path: string): ManifestError =>
  new ManifestError(
    "NOT_ALLOWED",
    `${shown(path)} lies where the server and its guests write, and nothing is read from there. Put it elsewhere below the manifests directory.`,
  );

const tooLarge = (path: string, bytes: number, most: number): ManifestError =>
  new ManifestError("TOO_LARGE", `${shown(path)} has ${bytes} bytes, ${most} are the most.`);
