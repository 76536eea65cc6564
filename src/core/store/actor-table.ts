// Owns: the rows of actors: their columns, checksums and inserts, and the cache of the actors in use. Does not own: when a row is written
// (commit-turn.ts).
//
// The columns of a row are in two groups. The dynamic ones (seq, head, pos, full, version, seen, count) change with every turn, and a
// turn that changes nothing else updates only these. The static ones (status, owner, parent, uid, and `rest`, a JSON text of all others)
// change rarely. `sum` covers both; each turn continues from the stored sum of the static ones.

import { crc32 } from "node:zlib";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { type ActorId, isJsonObject, type Json, type Row, type SetWake, type Status } from "../contract/index.ts";
import { Lru } from "../contract/internal.ts";
import { type ChainEnd, NO_SKIPS, type SkipPointers } from "./event-table.ts";
import { damaged } from "./store-errors.ts";
import { actorId, int, maybeInt, maybeText, parsed, split, text } from "./columns.ts";
import { nextDue } from "./rules.ts";

// A row is read as an array: building an object with so many names takes longer than finding the row.
export type Columns = Readonly<Record<number, SQLOutputValue>>;

/** The index of each column in a row selected by `COLUMNS`. */
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

// `due` may exceed what a number holds exactly (an expiry of `Number.MAX_SAFE_INTEGER`, for example), and such an integer cannot be read;
// as a fraction it can.
export const COLUMNS = Object.keys(AT)
  .map((name) => (name === "due" ? "due + 0.0" : name))
  .join(", ");

/** The columns that `columnsOf` returns, in order. */
const WRITTEN = ["seq", "head", "pos", "full", "version", "seen", "count", "sum", "due", "status", "owner", "parent", "rest", "uid"];

const staticSumOf = (row: Row, rest: string): number => crc32(`${row.uid} ${row.status} ${row.owner ?? ""} ${row.parent ?? ""} ${rest}`);

/** The checksum of a whole row: a flipped bit in the file is found when the actor is loaded. */
const rowSum = (staticSum: number, seq: number, head: string, pos: number, full: number, row: Row): number =>
  crc32(`${seq} ${head} ${pos} ${full} ${row.version} ${row.lastMessageAt} ${row.messageCount}`, staticSum);

/** The same objects, or equal scalars: no static column has to be written. */
export const hasSameStatics = (a: Row, b: Row): boolean =>
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

/** A whole row as it is written, and what the cache stores of it. */
function columnsOf(row: Row, seq: number, head: string, pos: number, full: number) {
  const {
    uid,
    life,
    version,
    createdAt,
    lastMessageAt,
    messageCount,
    policy,
    status,
    owner = null,
    parent = null,
    muted,
    wakes,
    pending,
  } = row;
  const rest = JSON.stringify({ life, createdAt, policy, muted, wakes, pending });
  const staticSum = staticSumOf(row, rest);
  const due = nextDue(row);
  const sum = rowSum(staticSum, seq, head, pos, full, row);
  const columns = [seq, head, pos, full, version, lastMessageAt, messageCount, sum, due, status, owner, parent, rest, uid];
  return { columns, staticSum, due };
}

const isStatus = (value: string): value is Status => value === "live" || value === "failed" || value === "stopped";

export function statusIn(value: unknown): Status {
  const status = text(value);
  if (isStatus(status)) return status;
  throw damaged("an actor's status is none");
}

function wakeIn(value: Json): SetWake {
  if (!isJsonObject(value) || typeof value["at"] !== "number" || typeof value["action"] !== "string") throw damaged("a wake is none");
  const { at, action, everyMs, cron, timeZone, args, cause, rang } = value;
  return {
    at,
    action,
    ...(typeof everyMs === "number" ? { everyMs } : {}),
    ...(typeof cron === "string" ? { cron } : {}),
    ...(typeof timeZone === "string" ? { timeZone } : {}),
    ...(args === undefined ? {} : { args }),
    ...(typeof cause === "string" ? { cause } : {}),
    ...(typeof rang === "number" ? { rang } : {}),
  };
}

/** Throws `STORE_CORRUPT` where the checksum is wrong. */
export function rowIn(columns: Columns): { readonly row: Row; readonly staticSum: number } {
  const rest = parsed(columns[AT.rest]);
  const owner = maybeText(columns[AT.owner]);
  const parentText = maybeText(columns[AT.parent]);
  const parent = parentText === undefined ? undefined : actorId(...split(parentText));
  if (!isJsonObject(rest) || !isJsonObject(rest["wakes"]) || !isJsonObject(rest["pending"])) throw damaged("an actor's row is none");
  const { life, createdAt, policy, muted, wakes, pending } = rest;
  const row: Row = {
    uid: text(columns[AT.uid]),
    life: text(life),
    version: int(columns[AT.version]),
    createdAt: int(createdAt),
    lastMessageAt: int(columns[AT.seen]),
    messageCount: int(columns[AT.count]),
    ...(isJsonObject(policy) ? { policy } : {}),
    status: statusIn(columns[AT.status]),
    ...(owner === undefined ? {} : { owner }),
    ...(parent === undefined ? {} : { parent }),
    ...(muted === true ? { muted } : {}),
    wakes: Object.fromEntries(Object.entries(wakes).map(([name, value]) => [name, wakeIn(value)])),
    pending,
  };
  const staticSum = staticSumOf(row, text(columns[AT.rest]));
  const sum = rowSum(staticSum, int(columns[AT.seq]), text(columns[AT.head]), int(columns[AT.pos]), int(columns[AT.full]), row);
  if (sum !== int(columns[AT.sum])) throw damaged(`the row of ${text(columns[AT.kind])}/${text(columns[AT.key])} was changed`);
  return { row, staticSum };
}

/** The end of an actor's chain and its row: what the next turn continues from. */
export interface Head extends ChainEnd {
  readonly id: ActorId;
  row: Row;
  staticSum: number;
  seq: number;
  head: string;
  pos: number;
  full: number;
  /** `pos` as the file's row has it, which within a transaction may be an earlier one. */
  storedPos: number;
  /** As stored: never later than the true one. */
  due: number | null;
  /** Of the next event. Undefined until the first turn after a load. */
  skips: SkipPointers | undefined;
}

const statements = (database: DatabaseSync) => ({
  insert: database.prepare(`INSERT INTO actor(id, kind, key, ${WRITTEN.join(", ")}) VALUES(?,?,?${",?".repeat(WRITTEN.length)})`),
  count: database.prepare("INSERT INTO tally VALUES(?, 1) ON CONFLICT(kind) DO UPDATE SET n = n + 1"),
  updateAll: database.prepare(`UPDATE actor SET ${WRITTEN.join(" = ?, ")} = ? WHERE id = ? AND pos = ?`),
  updateDynamic: database.prepare(
    "UPDATE actor SET seq = ?, head = ?, pos = ?, full = ?, version = ?, seen = ?, count = ?, sum = ? WHERE id = ? AND pos = ?",
  ),
});

/** Writes rows, in the caller's transaction. An update finds the row only at the given place, so that a second writer is noticed (C6). */
export class ActorTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
  }

  /** Adds a new actor, and counts it. */
  insert(id: ActorId, pk: number, row: Row, seq: number, head: string, pos: number, full: number): Head {
    const { columns, staticSum, due } = columnsOf(row, seq, head, pos, full);
    const [kind, key] = split(id);
    this.#sql.insert.run(pk, kind, key, ...columns);
    this.#sql.count.run(kind);
    return { id, pk, row, staticSum, seq, head, pos, full, storedPos: pos, due, skips: NO_SKIPS };
  }

  /** Writes all columns and moves `stored` on. False: the file's row is not at `stored.storedPos`. */
  update(stored: Head, row: Row, seq: number, head: string, pos: number, full: number): boolean {
    const { columns, staticSum, due } = columnsOf(row, seq, head, pos, full);
    if (this.#sql.updateAll.run(...columns, stored.pk, stored.storedPos).changes !== 1) return false;
    Object.assign(stored, { row, staticSum, seq, head, pos, full, storedPos: pos, due });
    return true;
  }

  /** Writes the dynamic columns. False: as above. */
  updateDynamic(current: Head): boolean {
    const { pk, row, staticSum, seq, head, pos, full, storedPos } = current;
    const sum = rowSum(staticSum, seq, head, pos, full, row);
    const { version, lastMessageAt, messageCount } = row;
    const { changes } = this.#sql.updateDynamic.run(seq, head, pos, full, version, lastMessageAt, messageCount, sum, pk, storedPos);
    if (changes !== 1) return false;
    current.storedPos = pos;
    return true;
  }
}

/** Fewer heads than this are never evicted from the cache. */
const RECENT_HEADS = 10_000;

/** The heads of actors in recent use. They stay valid because the store's lock excludes every other writer. */
export class HeadCache {
  readonly #byName: StatementSync;
  #cache = new Lru<ActorId, Head>(2 * RECENT_HEADS);

  constructor(database: DatabaseSync) {
    // In two steps: one query would take kind and key from the index, and so could not notice that a damaged index leads to another row.
    this.#byName = database.prepare(`SELECT ${COLUMNS} FROM actor WHERE id = (SELECT id FROM actor WHERE kind = ? AND key = ?)`);
    this.#byName.setReturnArrays(true);
  }

  get(id: ActorId): Head | undefined {
    const known = this.#cache.get(id);
    if (known !== undefined) return known;
    const head = this.read(id);
    if (head !== undefined) this.#cache.set(id, head);
    return head;
  }

  /** From the cache only. */
  cached(id: ActorId): Head | undefined {
    return this.#cache.get(id);
  }

  /** From the file, with its checksum verified. It is not cached. */
  read(id: ActorId): Head | undefined {
    const [kind, key] = split(id);
    const columns = this.#byName.get(kind, key);
    if (columns === undefined) return undefined;
    // The checksum does not cover the name.
    if (columns[AT.kind] !== kind || columns[AT.key] !== key) throw damaged(`the row of ${id} is another's`);
    const { row, staticSum } = rowIn(columns);
    const pos = int(columns[AT.pos]);
    return {
      id,
      pk: int(columns[AT.id]),
      row,
      staticSum,
      seq: int(columns[AT.seq]),
      head: text(columns[AT.head]),
      pos,
      full: int(columns[AT.full]),
      storedPos: pos,
      due: maybeInt(columns[AT.due]) ?? null,
      skips: undefined,
    };
  }

  set(id: ActorId, head: Head): void {
    this.#cache.set(id, head);
  }

  drop(id: ActorId): void {
    this.#cache.delete(id);
  }

  /** After a rollback, when the cached heads are ahead of the file. */
  clear(): void {
    this.#cache = new Lru(2 * RECENT_HEADS);
  }
}
