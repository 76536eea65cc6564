// Owns: what a manifest says, once it was read, and the error for manifests that are refused.
/** What a manifest grants. An absent field is denied. */
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
  /** `path` is absolute, with symbolic links resolved. Without it, the guest gets a private directory. */
  readonly filesystem?: { readonly path?: string; readonly write: boolean };
  readonly httpClient?: { readonly allowed: readonly string[] };
}

/** A manifest that was read, of any of Theater's three formats. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  /** A path or `store:…`; absent if the component is passed separately. */
  readonly component?: string;
  /** A path or `store:…` of its initial state. */
  readonly initialState?: string;
  readonly saveChain: boolean;
  readonly grants: Grants;
  /** After a failed call, the guest is paused until it is restarted, or continues from its last state. */
  readonly onError: "pause" | "restart";
  /** Limits that it sets; higher ones than the default need the operator's permission. */
  readonly limits: { readonly callMs?: number; readonly memoryBytes?: number };
  /** The original text. */
  readonly text: string;
}

type ManifestCode =
  /** Its content is invalid: no TOML, a key of the wrong type, an unknown handler. */
  | "BAD_MANIFEST"
  /** It, or something it names, does not exist. */
  | "NOT_FOUND"
  /** The caller may not use it. It may not even exist. */
  | "NOT_ALLOWED"
  | "TOO_LARGE";

/** A position in a text. Both numbers start at 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A manifest was refused. The message says where, and what to write instead. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  readonly code: ManifestCode;
  readonly line?: number;
  readonly column?: number;
  constructor(code: ManifestCode, message: string, { line, column, ...options }: Partial<TextPosition> & ErrorOptions = {}) {
    super(line === undefined ? message : `line ${line}, column ${column}: ${message}`, options);
    this.code = code;
    if (line !== undefined) this.line = line;
    if (column !== undefined) this.column = column;
  }
}
