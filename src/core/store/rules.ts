// Owns: what the stores in memory and on SQLite have in common: limits, what is due, paging, refusals. Does not own: where rows are stored.

import { hash } from "node:crypto";
import {
  type ActorId,
  type Digest,
  type Due,
  type Ended,
  type EndedPage,
  type EndedQuery,
  type OptionRule,
  type OptionTable,
  type Row,
  StoreError,
} from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";

/** `STORE_CLOSED`. `what` names the store. */
export const closed = (what: "store" | "session store" | "content store"): StoreError =>
  new StoreError("STORE_CLOSED", `The ${what} is closed. Open it again.`);

/** Throws `STORE_IO` for what is no whole number: SQLite takes NaN for NULL, and would miss events or erase all. */
export function wholeNumber(name: string, value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new StoreError("STORE_IO", `The store could not do this (${name} is ${value}, no whole number). Nothing of it was written.`);
}

// --- actors

/** How many events `Store.caused` returns. */
export const MAX_EFFECTS = 1_000;
/** How many actors `Store.claimants` returns. */
export const MAX_CLAIMANTS = 100;

/** C5, C6: why a turn was refused before anything of it was written. */
export const conflict = (id: ActorId, what: string): StoreError =>
  new StoreError("STORE_CONFLICT", `${id} ${what}. Load it again, then repeat the turn.`);

/** Quotes within a JSON string are escaped, so this matches the key and never a value that looks like it. */
export const causeOf = (header: string): string | undefined => /,"cause":"([0-9a-f]{64})",/u.exec(header)?.[1];

/** When the actor expires. A row's policy names the expiry whenever there is one, since a store does not know the kinds. */
const expiryOf = (row: Row): number | null => (row.policy?.expireMs === undefined ? null : row.lastMessageAt + row.policy.expireMs);

/** When the first of its wakes is due, or it expires. */
export function nextDue(row: Row): number | null {
  if (row.status === "stopped") return null;
  let due = expiryOf(row);
  for (const { at } of Object.values(row.wakes)) if (due === null || at < due) due = at;
  return due;
}

/** Its expiry is not before `due`, which is stored as a lower bound and not updated with each message. */
export const expiresAfter = (row: Row, due: number | null): boolean => (expiryOf(row) ?? Infinity) >= (due ?? 0);

/** Its wakes and its expiry that are due by `before`, soonest first. */
export function dueOf(id: ActorId, row: Row, before: number): readonly Due[] {
  if (row.status === "stopped") return [];
  const due = Object.entries(row.wakes).map(([wake, { at, rang }]): Due => ({ id, wake, at, ...(rang === undefined ? {} : { rang }) }));
  const expiry = expiryOf(row);
  if (expiry !== null) due.push({ id, wake: "", at: expiry });
  return due.filter(({ at }) => at <= before).toSorted((one, other) => one.at - other.at);
}

/** An actor that has ended; `place` orders the actors of one kind, `endedAt` is undefined where it cannot be read. */
export type EndedRow = Omit<Ended, "endedAt"> & { readonly endedAt: number | undefined; readonly place: number };

/** Where a page of `Store.ended` begins: behind this kind and place. */
export function endedAfter({ after = "" }: EndedQuery): { readonly kind: string; readonly place: number } {
  const [kind = "", place = "0"] = after.split(" ");
  return { kind, place: Number(place) };
}

/** The page of the first `limit` rows, in order of kind and place. All of them are looked at, so that recent ends do not make a page slow. */
export function endedPage(rows: readonly EndedRow[], { before, limit }: EndedQuery): EndedPage {
  const ended = rows.flatMap(({ id, head, seq, endedAt }): Ended[] =>
    endedAt === undefined || endedAt >= before ? [] : [{ id, head, seq, endedAt }],
  );
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? { ended } : { ended, next: `${kindOf(last.id)} ${last.place}` };
}

// --- contents

/** Bounds of a content store, in bytes. */
export interface ContentBounds {
  /** Of one piece. Default 64 MiB. */
  readonly pieceBytes: number;
  /** Of all pieces together. Default: 1 GiB in memory, what the disk has on disk. */
  readonly totalBytes: number;
}

export const PIECE_BYTES = 64 * 1024 * 1024;

const BYTES: OptionRule = ["a number of bytes, or Infinity", (value) => typeof value === "number" && value >= 0];

/** The rules for the bounds of a content store. */
export const CONTENT_BOUNDS: OptionTable<ContentBounds> = { pieceBytes: BYTES, totalBytes: BYTES };

const MAX_SPACE_BYTES = 256;
const MAX_LABEL_BYTES = 1_024;
/** How many labels or contents one answer has, whatever the request's limit. */
const MAX_ANSWERED = 10_000;

export const digestOf = (bytes: Uint8Array): Digest => hash("sha256", bytes, "hex");

export const absent = (digest: Digest): StoreError =>
  new StoreError("STORE_CONFLICT", `Nothing with the digest ${digest.slice(0, 64)} is stored here. Put it first, then label it.`);

/** Throws `STORE_FULL`. */
export function checkPiece(bytes: Uint8Array, { pieceBytes }: ContentBounds): void {
  if (bytes.length > pieceBytes)
    throw new StoreError("STORE_FULL", `This has ${bytes.length} bytes, and ${pieceBytes} may be stored in one piece. Divide it.`);
}

/** Throws `STORE_FULL`. */
export function checkTotal(bytes: number, { totalBytes }: ContentBounds): void {
  if (bytes > totalBytes)
    throw new StoreError(
      "STORE_FULL",
      `The content store would hold more than its ${totalBytes} bytes. Remove labels that are not needed and collect, or allow it more.`,
    );
}

export const checkSpace = (space: string): void => checkName("space", space, MAX_SPACE_BYTES);

export const checkLabel = (label: string): void => checkName("label", label, MAX_LABEL_BYTES);

function checkName(what: string, name: string, maxBytes: number): void {
  if (name === "" || Buffer.byteLength(name) > maxBytes)
    throw new StoreError("STORE_FULL", `A ${what} has 1 to ${maxBytes} bytes, this has ${Buffer.byteLength(name)}. Choose a shorter one.`);
  // A database would store these as other characters, and take one name for another.
  if (!name.isWellFormed() || name.includes("\0"))
    throw new StoreError("STORE_CONFLICT", `A ${what} is text of whole characters, without NUL. Choose another.`);
}

export const boundedLimit = (limit: number): number => Math.max(0, Math.min(MAX_ANSWERED, Math.trunc(limit) || 0));
