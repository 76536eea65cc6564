import { hash } from "node:crypto";
import { StoreError, type Digest } from "../contract/index.ts";

export interface ContentBounds {
  /** Of one piece. Default 64 MiB. */
  readonly pieceBytes: number;
  /** Of all pieces together. Default: 1 GiB in memory, what the disk has on disk. */
  readonly totalBytes: number;
}

export const PIECE_BYTES = 64 * 1024 * 1024;

const MOST_SPACE = 256;
const MOST_LABEL = 1_024;
/** Of labels or contents in one answer, whatever was asked for. */
const MOST_ANSWERED = 10_000;

export const digestOf = (bytes: Uint8Array): Digest => hash("sha256", bytes, "hex");

export const closed = (): StoreError => new StoreError("STORE_CLOSED", "The content store is closed. Open it again.");

export const absent = (digest: Digest): StoreError =>
  new StoreError("STORE_CONFLICT", `Nothing with the digest ${digest.slice(0, 64)} is kept here. Put it first, then label it.`);

/** Throws `STORE_FULL`. */
export function checkPiece(bytes: Uint8Array, { pieceBytes }: ContentBounds): void {
  if (bytes.length > pieceBytes)
    throw new StoreError("STORE_FULL", `This has ${bytes.length} bytes, and ${pieceBytes} may be kept in one piece. Divide it.`);
}

/** Throws `STORE_FULL`. */
export function checkTotal(bytes: number, { totalBytes }: ContentBounds): void {
  if (bytes > totalBytes)
    throw new StoreError(
      "STORE_FULL",
      `The content store would hold more than its ${totalBytes} bytes. Remove labels that are not needed and collect, or allow it more.`,
    );
}

export function checkSpace(space: string): void {
  checkName("space", space, MOST_SPACE);
}

export function checkLabel(label: string): void {
  checkName("label", label, MOST_LABEL);
}

function checkName(what: string, name: string, most: number): void {
  if (name === "" || Buffer.byteLength(name) > most)
    throw new StoreError("STORE_FULL", `A ${what} has 1 to ${most} bytes, this has ${Buffer.byteLength(name)}. Choose a shorter one.`);
  // A database would keep these as other characters, and one name would be taken for another.
  if (!name.isWellFormed() || name.includes("\0"))
    throw new StoreError("STORE_CONFLICT", `A ${what} is text of whole characters, without NUL. Choose another.`);
}

export const bounded = (limit: number): number => Math.max(0, Math.min(MOST_ANSWERED, Math.trunc(limit) || 0));
