/** What a manifest grants. Absent: denied. */
export interface Grants {
  readonly runtime?: true;
  readonly messageServer?: true;
  readonly supervisor?: true;
  readonly store?: true;
  readonly timing?: { readonly minSleepMs: number; readonly maxSleepMs: number };
  readonly random?: { readonly maxBytes: number; readonly maxInt: bigint };
  readonly environment?: {
    readonly allowed: readonly string[];
    readonly denied: readonly string[];
    readonly prefixes: readonly string[];
    readonly listAll: boolean;
  };
  /** Absolute, symbolic links resolved. Absent `path`: a new directory of the guest's own. */
  readonly filesystem?: { readonly path?: string; readonly write: boolean };
  readonly httpClient?: { readonly allowed: readonly string[] };
}

/** One of the three shapes of Theater's manifests, read. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  /** A path, `store:…`, or absent where the component is given beside it. */
  readonly component?: string;
  /** Where its first state is read from. */
  readonly initialState?: string;
  readonly saveChain: boolean;
  readonly grants: Grants;
  /** What becomes of a guest whose call failed: it waits for a restart, or goes on from its last state. */
  readonly onError: "pause" | "restart";
  /** Where it wants less, or more up to what the operator allows. */
  readonly limits: { readonly callMs?: number; readonly memoryBytes?: number };
  /** As it was given. */
  readonly text: string;
}

export type ManifestCode =
  /** What it says is wrong: no TOML, a key of the wrong type, a handler that does not exist. */
  | "BAD_MANIFEST"
  /** It, or what it names, is not there. */
  | "NOT_FOUND"
  /** It is there perhaps, but not for whoever asks. */
  | "NOT_ALLOWED"
  | "TOO_LARGE";

/** Where in a text, both from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A manifest that is not taken. The message says where, and what to write instead. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  readonly code: ManifestCode;
  readonly line?: number;
  readonly column?: number;
  constructor(code: ManifestCode, message: string, place?: TextPosition, options?: ErrorOptions) {
    super(place === undefined ? message : `line ${place.line}, column ${place.column}: ${message}`, options);
    this.code = code;
    if (place === undefined) return;
    this.line = place.line;
    this.column = place.column;
  }
}
