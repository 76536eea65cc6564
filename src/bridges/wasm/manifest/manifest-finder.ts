import type { ContentStore } from "../../../core/contract/index.ts";
import type { Reader } from "../guest-options.ts";
import type { Manifest } from "../manifest.ts";
import { ManifestDirectory } from "./manifest-directory.ts";
import { ManifestError } from "./manifest-error.ts";
import { MANIFEST_BYTES, readManifest } from "./read-manifest.ts";
import { isInline, isOperators, type Reference, referenceOf, shown } from "./reference.ts";
import { grantsVariables } from "./shows-machine.ts";

const MEBIBYTE = 1_048_576;

/** Where manifests may be read from. */
export interface ManifestOptions {
  /** Below which paths are followed; whoever may start a guest may have any file in it read. Absent: none are. */
  readonly directory?: string;
  /** Directories from which nothing is read, though they lie below it: guests write there, and would be taken for whoever wrote the others. */
  readonly closed?: readonly string[];
  readonly contents: ContentStore;
  /** Of a component or a first state. Default: 64 MiB. */
  readonly contentBytes?: number;
}

/** Finds manifests and what they name. Throws `ManifestError`, and what the content store throws. */
export class ManifestFinder {
  readonly #files: ManifestDirectory;
  readonly #contents: ContentStore;
  readonly #contentBytes: number;

  constructor({ directory, closed, contents, contentBytes = 64 * MEBIBYTE }: ManifestOptions) {
    this.#files = new ManifestDirectory(directory, closed);
    this.#contents = contents;
    this.#contentBytes = contentBytes;
  }

  /**
   * Its text, of a path, of `store:…`, or where it was given as text; the origin is a path from the directory, or `store:…`.
   * A reader is given what the operator wrote, and what lies in the stores it may read.
   */
  async find(given: string, reader?: Reader): Promise<{ readonly text: string; readonly origin?: string }> {
    if (isInline(given)) return { text: given };
    const reference = referenceOf(given);
    const { bytes, origin } = await this.#fetched(given, reference, MANIFEST_BYTES, undefined, isOperators(reference) ? undefined : reader);
    return { text: decoded(bytes, given), origin };
  }

  /**
   * As `readManifest`, and its directory of `filesystem` resolved, from its own. What shows a guest the machine, the operator's
   * own files alone may grant.
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
   * A component or a first state, as a manifest of that origin names it: a path is followed from the manifest's own directory.
   * Where a reader may have made the manifest up, no path is: its child would show it what lies there.
   */
  async content(written: string, origin: string | undefined, reader?: Reader): Promise<Uint8Array> {
    const reference = referenceOf(written);
    const bounds = origin !== undefined && this.#isOperators(origin) ? undefined : reader;
    if (bounds !== undefined && "path" in reference)
      throw new ManifestError(
        "NOT_ALLOWED",
        `${shown(written)} is a path, and a manifest that a guest gives names none: put what it needs into a store of the guest's, and name it as store://<space>/<label>.`,
      );
    const { bytes } = await this.#fetched(written, reference, this.#contentBytes, origin, bounds);
    return bytes;
  }

  /** Whether the operator wrote it: it lies below the manifests directory. */
  isTrusted(origin: string): boolean {
    return this.#files.open && !origin.startsWith("store:");
  }

  /** No guest labels anything among the manifests. */
  #isOperators(origin: string): boolean {
    return this.isTrusted(origin) || (origin.startsWith("store:") && isOperators(referenceOf(origin)));
  }

  async #fetched(
    written: string,
    reference: Reference,
    most: number,
    origin: string | undefined,
    reader: Reader | undefined,
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
        `${shown(written)} is in no store that this guest may read: write store://<space>/<label> or store://<space>/hash/<digest> of one it has put it into.`,
      );
    const bytes = digest === undefined ? undefined : await this.#contents.get(digest);
    if (bytes === undefined) throw new ManifestError("NOT_FOUND", `The store has no ${shown(written)}. Put it there and label it first.`);
    if (bytes.length > most) throw new ManifestError("TOO_LARGE", `${shown(written)} has ${bytes.length} bytes, ${most} are the most.`);
    return { bytes, origin: written };
  }
}

const notTrusted = (what: string, instead: string): ManifestError =>
  new ManifestError("NOT_ALLOWED", `Only a file below the manifests directory may grant ${what}: put the manifest there, or ${instead}.`);

function decoded(bytes: Uint8Array, given: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ManifestError("BAD_MANIFEST", `${shown(given)} is no text in UTF-8. A manifest is TOML.`, undefined, { cause: error });
  }
}
