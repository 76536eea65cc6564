import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type {
  ActorId,
  Change,
  Damaged,
  Due,
  DuePlace,
  Ended,
  EndedPage,
  EndedQuery,
  ListQuery,
  Row,
  StoreError,
} from "../contract/index.ts";
import { AT, type Columns, COLUMNS, expiry, readRow, soonest, status } from "./actor-row.ts";
import { actorId, damaged, int, split, text } from "./column.ts";
import { isDamage, storeFault } from "./sqlite-error.ts";
import { wholeRows } from "./whole-rows.ts";

/** Names looked at in one go, where each row is read by itself. */
const PAGE = 1_000;

interface Stale {
  readonly id: ActorId;
  readonly pk: number;
  readonly pos: number;
  readonly at: number | null;
}

interface Found {
  readonly id: ActorId;
  readonly row: Row;
  readonly pk: number;
  readonly pos: number;
  readonly stored: SQLOutputValue | undefined;
}

/** Who is there: by name, kind, owner, parent, uid and time due, each by an index, none by reading states. */
export class Directory {
  readonly #lists = new Map<string, StatementSync>();
  readonly #database: DatabaseSync;
  readonly #one: StatementSync;
  readonly #count: StatementSync;
  readonly #countKind: StatementSync;
  readonly #countOwner: StatementSync;
  readonly #countBoth: StatementSync;
  readonly #countStopped: StatementSync;
  readonly #countStoppedKind: StatementSync;
  readonly #countOwnerLive: StatementSync;
  readonly #children: StatementSync;
  readonly #find: StatementSync;
  readonly #pk: StatementSync;
  readonly #due: StatementSync;
  readonly #dueKinds: StatementSync;
  readonly #correct: StatementSync;
  readonly #ended: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#one = database.prepare("SELECT kind, key, seq, head, status FROM actor WHERE kind = ? AND key = ?");
    this.#count = database.prepare("SELECT coalesce(sum(n), 0) AS n FROM tally");
    this.#countKind = database.prepare("SELECT coalesce(sum(n), 0) AS n FROM tally WHERE kind = ?");
    this.#countOwner = database.prepare("SELECT count(*) AS n FROM actor WHERE owner = ?");
    this.#countBoth = database.prepare("SELECT count(*) AS n FROM actor WHERE owner = ? AND kind = ?");
    this.#countStopped = database.prepare("SELECT count(*) AS n FROM actor WHERE status = 'stopped'");
    this.#countStoppedKind = database.prepare("SELECT count(*) AS n FROM actor WHERE status = 'stopped' AND kind = ?");
    this.#countOwnerLive = database.prepare(
      "SELECT count(*) AS n FROM actor WHERE owner = ? AND (? IS NULL OR kind = ?) AND status <> 'stopped'",
    );
    this.#children = database.prepare("SELECT kind, key FROM actor WHERE parent = ? AND status <> 'stopped' ORDER BY kind, key");
    this.#find = database.prepare("SELECT kind, key FROM actor WHERE uid = ?");
    this.#pk = database.prepare("SELECT id FROM actor WHERE kind = ? AND key = ?");
    this.#due = database.prepare(`SELECT ${COLUMNS} FROM actor WHERE due <= ? AND (due, id) > (?, ?) ORDER BY due, id LIMIT ?`);
    this.#due.setReturnArrays(true);
    // `+kind`, or all of a kind would be read and sorted: what is due is few.
    this.#dueKinds = database.prepare(
      `SELECT ${COLUMNS} FROM actor WHERE due <= ? AND (due, id) > (?, ?) AND +kind IN (SELECT value FROM json_each(?)) ORDER BY due, id LIMIT ?`,
    );
    this.#dueKinds.setReturnArrays(true);
    // As many as are asked for are looked at, or who ended lately would keep everybody waiting.
    this.#ended = database.prepare(
      `SELECT a.kind, a.key, a.id, a.seq, a.head, CASE WHEN json_valid(e.header) THEN e.header ->> '$.at' END AS at
       FROM (SELECT kind, id FROM actor INDEXED BY actor_stopped
             WHERE status = 'stopped' AND (?1 IS NULL OR kind = ?1) AND (kind, id) > (?2, ?3) ORDER BY kind, id LIMIT ?4) AS s
       CROSS JOIN actor a ON a.id = s.id LEFT JOIN event e ON e.pos = a.pos ORDER BY s.kind, s.id`,
    );
    this.#correct = database.prepare("UPDATE actor SET due = ? WHERE id = ? AND pos = ?");
  }

  list(query: ListQuery, lost?: Damaged): readonly Change[] {
    try {
      return this.#rows("kind, key, seq, head, status", query).map(changeIn);
    } catch (error) {
      if (lost === undefined || !isDamage(storeFault(error))) throw error;
      return this.#oneByOne(query, lost);
    }
  }

  /** By the index of names, which says who there is also where their rows cannot be read. */
  #oneByOne({ live, limit, after, ...which }: ListQuery, lost: Damaged): readonly Change[] {
    const found: Change[] = [];
    for (let from = after; ;) {
      const names = this.#rows("kind, key", { ...which, limit: PAGE, ...(from === undefined ? {} : { after: from }) });
      for (const { kind, key } of names) {
        const id = actorId(kind, key);
        try {
          const columns = this.#one.get(text(kind), text(key));
          if (columns === undefined) throw damaged(`the row of ${id} is missing`);
          const change = changeIn(columns);
          if (live !== true || change.status !== "stopped") found.push(change);
        } catch (error) {
          lost(damaged(`the row of ${id} cannot be read`, error), id);
        }
        if (found.length === limit) return found;
        from = id;
      }
      if (names.length < PAGE) return found;
    }
  }

  #rows(columns: string, { kind, owner, live, after, limit }: ListQuery): readonly Record<string, SQLOutputValue>[] {
    const where: string[] = [];
    const values: string[] = [];
    if (kind !== undefined) {
      where.push("kind = ?");
      values.push(kind);
    }
    if (owner !== undefined) {
      where.push("owner = ?");
      values.push(owner);
    }
    if (live === true) where.push("status <> 'stopped'");
    if (after !== undefined) {
      where.push("(kind, key) > (?, ?)");
      values.push(...split(after));
    }
    const sql = `SELECT ${columns} FROM actor ${where.length > 0 ? `WHERE ${where.join(" AND ")}` : ""} ORDER BY kind, key LIMIT ?`;
    let statement = this.#lists.get(sql);
    if (statement === undefined) this.#lists.set(sql, (statement = this.#database.prepare(sql)));
    return statement.all(...values, limit);
  }

  count({ kind, owner, live }: Omit<ListQuery, "after" | "limit">): number {
    if (owner !== undefined && live === true) return int(this.#countOwnerLive.get(owner, kind ?? null, kind ?? null)?.["n"]);
    if (owner !== undefined) return int((kind === undefined ? this.#countOwner.get(owner) : this.#countBoth.get(owner, kind))?.["n"]);
    const all = int((kind === undefined ? this.#count.get() : this.#countKind.get(kind))?.["n"]);
    if (live !== true) return all;
    return all - int((kind === undefined ? this.#countStopped.get() : this.#countStoppedKind.get(kind))?.["n"]);
  }

  children(id: ActorId): readonly ActorId[] {
    return this.#children.all(id).map((columns) => actorId(columns["kind"], columns["key"]));
  }

  find(uid: string): ActorId | undefined {
    const columns = this.#find.get(uid);
    return columns && actorId(columns["kind"], columns["key"]);
  }

  /** When its last event came, not its last message from others: an actor may have been idle for long when it was stopped. */
  ended({ before, kind, after = "", limit }: EndedQuery): EndedPage {
    const [from = "", place = "0"] = after.split(" ");
    const rows = this.#ended.all(kind ?? null, from, Number(place), limit);
    const ended = rows.flatMap((columns): Ended[] => {
      const at = columns["at"];
      if (typeof at !== "number" || at >= before) return [];
      return [{ id: actorId(columns["kind"], columns["key"]), head: text(columns["head"]), seq: int(columns["seq"]), endedAt: at }];
    });
    const last = rows.at(-1);
    return last === undefined || rows.length < limit ? { ended } : { ended, next: `${text(last["kind"])} ${int(last["id"])}` };
  }

  /**
   * Soonest first. `due` columns are lower bounds (an expiry moves with every message and
   * is not written each time): `stale` are actors whose own is later than stored. Without
   * any, the answer is right.
   */
  due(
    before: number,
    limit: number,
    lost?: Damaged,
    kinds?: readonly string[],
    after?: DuePlace,
  ): { readonly due: readonly Due[]; readonly stale: readonly Stale[] } {
    const tell =
      lost &&
      ((error: StoreError, { [AT.kind]: kind, [AT.key]: key }: Columns) => {
        if (typeof kind !== "string" || typeof key !== "string") return lost(error);
        const id = actorId(kind, key);
        lost(damaged(`the row of ${id} cannot be read`, error), id);
      });
    const due: Due[] = [];
    const stale: Stale[] = [];
    const place = [after?.at ?? -Number.MAX_VALUE, after === undefined ? 0 : this.#pkOf(after.id)] as const;
    const select = (most: number) =>
      kinds === undefined ? this.#due.all(before, ...place, most) : this.#dueKinds.all(before, ...place, JSON.stringify(kinds), most);
    for (const { id, row, pk, pos, stored } of wholeRows(limit, select, foundIn, tell)) {
      const at = soonest(row);
      if (at !== stored) stale.push({ id, pk, pos, at });
      due.push(...dueOf(id, row, before));
    }
    return { due: due.toSorted((a, b) => a.at - b.at).slice(0, limit), stale };
  }

  #pkOf(id: ActorId): number {
    return int(this.#pk.get(...split(id))?.["id"] ?? 0);
  }

  /** Within a transaction. False for one that had a turn meanwhile. */
  correct({ pk, pos, at }: Stale): boolean {
    return this.#correct.run(at, pk, pos).changes === 1;
  }
}

const changeIn = (columns: Readonly<Record<string, SQLOutputValue>>): Change => ({
  id: actorId(columns["kind"], columns["key"]),
  seq: int(columns["seq"]),
  head: text(columns["head"]),
  status: status(columns["status"]),
});

function foundIn(columns: Columns): Found {
  const { row } = readRow(columns);
  const id = actorId(columns[AT.kind], columns[AT.key]);
  return { id, row, pk: int(columns[AT.id]), pos: int(columns[AT.pos]), stored: columns[AT.due] };
}

function dueOf(id: ActorId, row: Row, before: number): Due[] {
  if (row.status === "stopped") return [];
  const due: Due[] = [];
  for (const [wake, { at, rang }] of Object.entries(row.wakes))
    if (at <= before) due.push({ id, wake, at, ...(rang === undefined ? {} : { rang }) });
  const at = expiry(row);
  if (at !== null && at <= before) due.push({ id, wake: "", at });
  return due;
}
