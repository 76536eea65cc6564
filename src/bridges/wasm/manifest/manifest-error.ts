export type ManifestCode =
  /** What it says is wrong: no TOML, a key of the wrong type, a handler that does not exist. */
  | "BAD_MANIFEST"
  /** It, or what it names, is not there. */
  | "NOT_FOUND"
  /** It is there perhaps, but not for whoever asks. */
  | "NOT_ALLOWED"
  | "TOO_LARGE";

/** Where in a text, both from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** A manifest that is not taken. The message says where, and what to write instead. */
export class ManifestError extends Error {
  override readonly name = "ManifestError";
  readonly code: ManifestCode;
  readonly line?: number;
  readonly column?: number;
  constructor(code: ManifestCode, message: string, place?: TextPlace, options?: ErrorOptions) {
    super(place === undefined ? message : `line ${place.line}, column ${place.column}: ${message}`, options);
    this.code = code;
    if (place === undefined) return;
    this.line = place.line;
    this.column = place.column;
  }
}
