import { crc32 } from "node:zlib";
import type { SQLOutputValue } from "node:sqlite";
import { isBag, type Json, type Row, type SetWake, type Status } from "../contract/index.ts";
import { actorId, damaged, int, maybeText, parsed, text } from "./column.ts";

// A row is read as a list: to make an object with so many names takes longer than to find it.
export type Columns = Readonly<Record<number, SQLOutputValue>>;

/** Where each column is in a list of `COLUMNS`. */
export const AT = {
  id: 0,
  seq: 1,
  head: 2,
  pos: 3,
  full: 4,
  version: 5,
  seen: 6,
  count: 7,
  sum: 8,
  due: 9,
  kind: 10,
  key: 11,
  uid: 12,
  status: 13,
  owner: 14,
  parent: 15,
  rest: 16,
} as const;

// A time as SQLite counts it may be past what a number counts exactly (an expiry of `Number.MAX_SAFE_INTEGER`, say), and whole numbers
// as large as that cannot be read: as a fraction all can.
export const COLUMNS = Object.keys(AT)
  .map((name) => (name === "due" ? "due + 0.0" : name))
  .join(", ");

/** What a turn changes only now and then, as one text; the rest are columns of their own. */
function restText(row: Row): string {
  const { life, createdAt, policy, muted, wakes, pending } = row;
  return JSON.stringify({ life, createdAt, policy, muted, wakes, pending });
}

/** Of what changes now and then. */
const coldSum = (row: Row, rest: string): number => crc32(`${row.uid} ${row.status} ${row.owner ?? ""} ${row.parent ?? ""} ${rest}`);

/** Of the whole row: a flipped bit in the file is found when the actor is loaded. */
export const rowSum = (cold: number, seq: number, head: string, pos: number, full: number, row: Row): number =>
  crc32(`${seq} ${head} ${pos} ${full} ${row.version} ${row.lastMessageAt} ${row.messageCount}`, cold);

/** What `columnsOf` gives, each to be set. */
export const WRITTEN = ["seq", "head", "pos", "full", "version", "seen", "count", "sum", "due", "status", "owner", "parent", "rest", "uid"];

/** A whole row as it is written, and what its `Tip` is told of it. */
export function columnsOf(
  row: Row,
  seq: number,
  head: string,
  pos: number,
  full: number,
): {
  readonly columns: readonly (string | number | null)[];
  readonly cold: number;
  readonly due: number | null;
} {
  const { version, lastMessageAt, messageCount, owner = null, parent = null, uid } = row;
  const rest = restText(row);
  const cold = coldSum(row, rest);
  const due = soonest(row);
  const sum = rowSum(cold, seq, head, pos, full, row);
  const columns = [seq, head, pos, full, version, lastMessageAt, messageCount, sum, due, row.status, owner, parent, rest, uid];
  return { columns, cold, due };
}

/** The same objects, or equal scalars: nothing of the cold part has to be written. */
export const sameCold = (a: Row, b: Row): boolean =>
  a.wakes === b.wakes &&
  a.pending === b.pending &&
  a.policy === b.policy &&
  a.status === b.status &&
  a.owner === b.owner &&
  a.parent === b.parent &&
  a.muted === b.muted &&
  a.life === b.life &&
  a.uid === b.uid &&
  a.createdAt === b.createdAt;

/** When the first of its wakes is due, or it expires. */
export function soonest(row: Row): number | null {
  if (row.status === "stopped") return null;
  let due = expiry(row);
  for (const { at } of Object.values(row.wakes)) if (due === null || at < due) due = at;
  return due;
}

/** The policy kept with a row names its expiry whenever it has one: a store does not know the kinds. */
export function expiry(row: Row): number | null {
  const expireMs = row.policy?.expireMs;
  return expireMs === undefined ? null : row.lastMessageAt + expireMs;
}

const isStatus = (value: string): value is Status => value === "live" || value === "failed" || value === "stopped";

export function status(value: unknown): Status {
  const read = text(value);
  if (isStatus(read)) return read;
  throw damaged("an actor's status is none");
}

function wake(value: Json): SetWake {
  if (!isBag(value) || typeof value["at"] !== "number" || typeof value["action"] !== "string") throw damaged("a wake is none");
  const { at, action, everyMs, args, cause, rang } = value;
  return {
    at,
    action,
    ...(typeof everyMs === "number" ? { everyMs } : {}),
    ...(args === undefined ? {} : { args }),
    ...(typeof cause === "string" ? { cause } : {}),
    ...(typeof rang === "number" ? { rang } : {}),
  };
}

/** Throws `STORE_CORRUPT` where the sum does not fit. */
export function readRow(columns: Columns): { readonly row: Row; readonly cold: number } {
  const rest = parsed(columns[AT.rest]);
  const owner = maybeText(columns[AT.owner]);
  const parentText = maybeText(columns[AT.parent]);
  const slash = parentText?.indexOf("/") ?? -1;
  const parent = parentText === undefined ? undefined : actorId(parentText.slice(0, slash), parentText.slice(slash + 1));
  if (!isBag(rest) || !isBag(rest["wakes"]) || !isBag(rest["pending"])) throw damaged("an actor's row is none");
  const { life, createdAt, policy, muted, pending } = rest;
  const row: Row = {
    uid: text(columns[AT.uid]),
    life: text(life),
    version: int(columns[AT.version]),
    createdAt: int(createdAt),
    lastMessageAt: int(columns[AT.seen]),
    messageCount: int(columns[AT.count]),
    ...(isBag(policy) ? { policy } : {}),
    status: status(columns[AT.status]),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(muted === true ? { muted } : {}),
    wakes: Object.fromEntries(Object.entries(rest["wakes"]).map(([name, value]) => [name, wake(value)])),
    pending,
  };
  const cold = coldSum(row, text(columns[AT.rest]));
  const sum = rowSum(cold, int(columns[AT.seq]), text(columns[AT.head]), int(columns[AT.pos]), int(columns[AT.full]), row);
  if (sum !== int(columns[AT.sum])) throw damaged(`the row of ${text(columns[AT.kind])}/${text(columns[AT.key])} was changed`);
  return { row, cold };
}
