// Owns: finding manifests and the contents they name: by path, in the content store, or inline; and who may use which.
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { checkOptions, TEXTS, type ContentStore } from "../../../core/contract/index.ts";
import type { ContentReader } from "../guest-options.ts";
import { isDigest } from "../guest-state.ts";
import { type Manifest, ManifestError } from "./manifest.ts";
import { MANIFEST_BYTES, readManifest } from "./read-manifest.ts";
import { grantsVariables } from "./grants.ts";

/** A reference to a manifest, a component or a state. */
export type Reference =
  | { readonly digest: string; readonly space?: string }
  | { readonly space: string; readonly label: string }
  | { readonly path: string };

/** The space of `store:<label>`, as in Theater. */
export const MANIFEST_SPACE = "manifest";

const STORE = "store:";

/**
 * Parses `store:<digest>`, `store:<label>`, `store://<space>/<label>` or `store://<space>/hash/<digest>`; anything else is a path.
 * Throws `ManifestError`, also for URLs, since nothing is fetched.
 */
export function parseReference(written: string): Reference {
  if (/^https?:/iu.test(written))
    throw new ManifestError(
      "NOT_ALLOWED",
      `${quotedReference(written)} is on the network, and nothing is fetched from there: put the file below the manifests directory, or into the store.`,
    );
  if (!written.startsWith(STORE)) return { path: written };
  const place = written.slice(STORE.length);
  if (!place.startsWith("//") && place !== "") return isDigest(place) ? { digest: place } : { space: MANIFEST_SPACE, label: place };
  const [, space, rest] = /^\/\/([^/]+)\/(.+)$/u.exec(place) ?? [];
  if (space === undefined || rest === undefined)
    throw new ManifestError(
      "BAD_MANIFEST",
      `${quotedReference(written)} names nothing: write store:<label>, store:<digest>, store://<space>/<label> or store://<space>/hash/<digest>.`,
    );
  if (!rest.startsWith("hash/")) return { space, label: rest };
  const digest = rest.slice("hash/".length);
  if (!isDigest(digest))
    throw new ManifestError("BAD_MANIFEST", `${quotedReference(written)} holds no digest: SHA-256 is 64 hex digits, in lower case.`);
  return { digest, space };
}

/** A path, or a label in the manifest space. Neither guests nor those who start them can write there. */
export const isOperatorReference = (reference: Reference): boolean =>
  "path" in reference || ("label" in reference && reference.space === MANIFEST_SPACE);

/** Whether it is the text of a manifest, not a reference. */
const isInline = (given: string): boolean => /\n/u.test(given) || /^\s*["'\w.-]+\s*=/u.test(given);

const quotedReference = (text: string): string => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text.toWellFormed());

const MEBIBYTE = 1_048_576;

/** The options of `ManifestFinder`. */
export interface ManifestOptions {
  /** The directory of paths. Anyone who may start a guest can have any file in it read. Absent: paths are refused. */
  readonly directory?: string;
  /** Directories inside it from which nothing is read: guests write there, and their files must not count as the operator's. */
  readonly closed?: readonly string[];
  readonly contents: ContentStore;
  /** The most bytes of a component or initial state. Default: 64 MiB. */
  readonly contentBytes?: number;
}

/** Finds manifests and the contents they name. Throws `ManifestError`, and errors of the content store. */
export class ManifestFinder {
  readonly #files: ManifestDirectory;
  readonly #contents: ContentStore;
  readonly #contentBytes: number;

  constructor(options: ManifestOptions) {
    checkOptions("ManifestFinder", options, { directory: true, closed: TEXTS, contents: true, contentBytes: true });
    const { directory, closed, contents, contentBytes = 64 * MEBIBYTE } = options;
    this.#files = new ManifestDirectory(directory, closed);
    this.#contents = contents;
    this.#contentBytes = contentBytes;
  }

  /**
   * Finds a manifest by path or `store:…`, or takes inline text. The origin is a path relative to the directory, or `store:…`.
   * A reader gets only manifests of the operator, and those in spaces that it may read.
   */
  async find(given: string, reader?: ContentReader): Promise<{ readonly text: string; readonly origin?: string }> {
    if (isInline(given)) return { text: given };
    const reference = parseReference(given);
    const { bytes, origin } = await this.#fetch(
      given,
      reference,
      MANIFEST_BYTES,
      undefined,
      isOperatorReference(reference) ? undefined : reader,
    );
    return { text: decodeUtf8(bytes, given), origin };
  }

  /**
   * As `readManifest`, and resolves the directory of `filesystem`, relative to the manifest. Only files of the operator may expose
   * directories or variables of the machine.
   */
  async read(text: string, origin: string | undefined): Promise<Manifest> {
    const manifest = readManifest(text);
    const { filesystem } = manifest.grants;
    const trusted = origin !== undefined && this.isTrusted(origin);
    if (!trusted && filesystem?.path !== undefined)
      throw notTrusted('a directory (path in "filesystem")', "leave path away for a directory of the guest's own");
    if (!trusted && grantsVariables(manifest.grants))
      throw notTrusted('variables (allowed_vars, allowed_prefixes in "environment")', "leave them away");
    if (filesystem?.path === undefined) return manifest;
    const path = await this.#files.directory(filesystem.path, origin ?? "");
    return { ...manifest, grants: { ...manifest.grants, filesystem: { ...filesystem, path } } };
  }

  /**
   * Reads a component or initial state that a manifest of that origin names. A path is relative to the manifest's directory.
   * Paths are refused if the reader may have written the manifest: it could read any file through a child.
   */
  async content(written: string, origin: string | undefined, reader?: ContentReader): Promise<Uint8Array> {
    const reference = parseReference(written);
    const bounds = origin !== undefined && this.#isOperatorOrigin(origin) ? undefined : reader;
    if (bounds !== undefined && "path" in reference)
      throw new ManifestError(
        "NOT_ALLOWED",
        `${quotedReference(written)} is a path, and a manifest that a guest gives names none: put what it needs into a store of the guest's, and name it as store://<space>/<label>.`,
      );
    const { bytes } = await this.#fetch(written, reference, this.#contentBytes, origin, bounds);
    return bytes;
  }

  /** Whether the operator wrote it, that is, whether it is in the manifests directory. */
  isTrusted(origin: string): boolean {
    return this.#files.isConfigured && !origin.startsWith("store:");
  }

  /** Also a label in the manifest space, where guests cannot write. */
  #isOperatorOrigin(origin: string): boolean {
    return this.isTrusted(origin) || (origin.startsWith("store:") && isOperatorReference(parseReference(origin)));
  }

  async #fetch(
    written: string,
    reference: Reference,
    most: number,
    origin: string | undefined,
    reader: ContentReader | undefined,
  ): Promise<{ readonly bytes: Uint8Array; readonly origin: string }> {
    if ("path" in reference) {
      const from = origin !== undefined && this.isTrusted(origin) ? origin : "";
      const { bytes, path } = await this.#files.read(reference.path, most, from);
      return { bytes, origin: path };
    }
    const digest = "digest" in reference ? reference.digest : await this.#contents.labelled(reference.space, reference.label);
    const { space } = reference;
    if (reader !== undefined && (digest === undefined || space === undefined || !(await reader.reads(space, digest))))
      throw new ManifestError(
        "NOT_ALLOWED",
        `${quotedReference(written)} is in no store that this guest may read: write store://<space>/<label> or store://<space>/hash/<digest> of one it has put it into.`,
      );
    const bytes = digest === undefined ? undefined : await this.#contents.get(digest);
    if (bytes === undefined)
      throw new ManifestError("NOT_FOUND", `The store has no ${quotedReference(written)}. Put it there and label it first.`);
    if (bytes.length > most)
      throw new ManifestError("TOO_LARGE", `${quotedReference(written)} has ${bytes.length} bytes, ${most} are the most.`);
    return { bytes, origin: written };
  }
}

const notTrusted = (what: string, instead: string): ManifestError =>
  new ManifestError("NOT_ALLOWED", `Only a file below the manifests directory may grant ${what}: put the manifest there, or ${instead}.`);

function decodeUtf8(bytes: Uint8Array, given: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ManifestError("BAD_MANIFEST", `${quotedReference(given)} is no text in UTF-8. A manifest is TOML.`, { cause: error });
  }
}

const LONGEST_PATH = 4_096;

/** Used for files that are outside, missing or unreadable alike, so a caller learns nothing about other files. */
const notFound = (path: string, cause?: unknown): ManifestError =>
  new ManifestError("NOT_FOUND", `${quotedReference(path)} is no file below the manifests directory. Check its name, or put it there.`, {
    cause,
  });

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep);

/** Reads files in one directory. Neither `..`, absolute paths nor symbolic links lead outside. */
class ManifestDirectory {
  readonly #directory: string | undefined;
  readonly #closed: readonly string[];

  /** `closed`: directories inside it from which nothing is read. */
  constructor(directory: string | undefined, closed: readonly string[] = []) {
    this.#directory = directory === undefined ? undefined : resolve(directory);
    this.#closed = closed.map((one) => resolve(one));
  }

  get isConfigured(): boolean {
    return this.#directory !== undefined;
  }

  /** Returns a file's bytes, and its resolved path relative to the directory. `from`: the file that `path` is relative to. */
  async read(path: string, most: number, from = ""): Promise<{ readonly bytes: Uint8Array; readonly path: string }> {
    const root = await this.#root(path);
    if (path.length > LONGEST_PATH || path.includes("\0")) throw notFound(path);
    const written = isAbsolute(path) ? path : join(root, dirname(from), path);
    const closed = await this.#closedDirectoriesBelow(root);
    // Checked before resolving, so that the answer does not reveal whether it exists.
    if (closed.some((one) => isWithin(resolve(written), one))) throw closedDirectory(path);
    const real = await realpath(written).catch((error: unknown) => {
      throw notFound(path, error);
    });
    if (real === root || !isWithin(real, root) || closed.some((one) => isWithin(real, one))) throw notFound(path);
    return { bytes: await this.#bytes(real, path, most), path: relative(root, real) };
  }

  /** Ignores directories that do not exist, and those that contain the manifests directory itself: that is the operator's choice. */
  async #closedDirectoriesBelow(root: string): Promise<readonly string[]> {
    const real = await Promise.all(this.#closed.map((one) => realpath(one).catch(() => undefined)));
    return real.flatMap((one) => (one !== undefined && isWithin(one, root) ? [one] : []));
  }

  /** Resolves a directory that a manifest names. */
  async directory(path: string, from: string): Promise<string> {
    const root = await this.#root(path);
    try {
      return await realpath(resolve(root, dirname(from), path));
    } catch (error) {
      throw new ManifestError("NOT_FOUND", `There is no directory ${quotedReference(path)}. Make it first.`, { cause: error });
    }
  }

  async #root(path: string): Promise<string> {
    if (this.#directory === undefined)
      throw new ManifestError(
        "NOT_ALLOWED",
        `${quotedReference(path)} is a path, and no directory is open for manifests here: start Troupe with --manifests DIR, or give the manifest's text itself.`,
      );
    try {
      return await realpath(this.#directory);
    } catch (error) {
      throw new ManifestError("NOT_FOUND", "The directory of manifests is not there. Make it, or name another with --manifests.", {
        cause: error,
      });
    }
  }

  /** Does not block on a pipe, and does not follow a symbolic link that replaced the checked file. */
  async #bytes(real: string, path: string, most: number): Promise<Uint8Array> {
    try {
      await using file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const found = await file.stat();
      if (!found.isFile()) throw notFound(path);
      if (found.size > most) throw tooLarge(path, found.size, most);
      // One byte more, in case it grows while it is read.
      const { buffer, bytesRead } = await file.read(new Uint8Array(found.size + 1), 0, found.size + 1, 0);
      if (bytesRead > most) throw tooLarge(path, bytesRead, most);
      if ((await realpath(real)) !== real) throw notFound(path);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw error instanceof ManifestError ? error : notFound(path, error);
    }
  }
}

const closedDirectory = (path: string): ManifestError =>
  new ManifestError(
    "NOT_ALLOWED",
    `${quotedReference(path)} lies where the server and its guests write, and nothing is read from there. Put it elsewhere below the manifests directory.`,
  );

const tooLarge = (path: string, bytes: number, most: number): ManifestError =>
  new ManifestError("TOO_LARGE", `${quotedReference(path)} has ${bytes} bytes, ${most} are the most.`);
