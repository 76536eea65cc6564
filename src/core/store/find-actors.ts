// Owns: finding actors by name, kind, owner, parent, uid and due time, each through an index. Does not own: their rows (actor-table.ts).

import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId, Change, Damaged, Due, DuePlace, EndedPage, EndedQuery, ListQuery, StoreError } from "../contract/index.ts";
import { AT, type Columns, COLUMNS, rowIn, statusIn } from "./actor-table.ts";
import { damaged, isDamage, storeFault } from "./store-errors.ts";
import { actorId, int, readableRows, split, text } from "./columns.ts";
import { dueOf, endedAfter, endedPage, nextDue } from "./rules.ts";

/** Names selected at once where each row is read by itself. */
const PAGE = 1_000;

/** An actor whose stored `due` is earlier than `at`, the true one. */
interface StaleDue {
  readonly id: ActorId;
  readonly pk: number;
  readonly pos: number;
  readonly at: number | null;
}

const statements = (database: DatabaseSync) => ({
  byName: database.prepare("SELECT kind, key, seq, head, status FROM actor WHERE kind = ? AND key = ?"),
  pkOf: database.prepare("SELECT id FROM actor WHERE kind = ? AND key = ?"),
  byUid: database.prepare("SELECT kind, key FROM actor WHERE uid = ?"),
  children: database.prepare("SELECT kind, key FROM actor WHERE parent = ? AND status <> 'stopped' ORDER BY kind, key"),
  due: database.prepare(`SELECT ${COLUMNS} FROM actor WHERE due <= ? AND (due, id) > (?, ?) ORDER BY due, id LIMIT ?`),
  // `+kind` prevents the index of kinds, which would read and sort all actors of a kind: few are due.
  dueOfKinds: database.prepare(
    `SELECT ${COLUMNS} FROM actor WHERE due <= ? AND (due, id) > (?, ?) AND +kind IN (SELECT value FROM json_each(?)) ORDER BY due, id LIMIT ?`,
  ),
  correct: database.prepare("UPDATE actor SET due = ? WHERE id = ? AND pos = ?"),
  ended: database.prepare(
    `SELECT a.kind, a.key, a.id, a.seq, a.head, CASE WHEN json_valid(e.header) THEN e.header ->> '$.at' END AS at
     FROM (SELECT kind, id FROM actor INDEXED BY actor_stopped
           WHERE status = 'stopped' AND (?1 IS NULL OR kind = ?1) AND (kind, id) > (?2, ?3) ORDER BY kind, id LIMIT ?4) AS s
     CROSS JOIN actor a ON a.id = s.id LEFT JOIN event e ON e.pos = a.pos ORDER BY s.kind, s.id`,
  ),
});

export class Directory {
  /** Statements of lists and counts, by their text. */
  readonly #prepared = new Map<string, StatementSync>();
  readonly #database: DatabaseSync;
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
    this.#database = database;
    this.#sql.due.setReturnArrays(true);
    this.#sql.dueOfKinds.setReturnArrays(true);
  }

  list(query: ListQuery, onDamaged?: Damaged): readonly Change[] {
    try {
      return this.#rows("kind, key, seq, head, status", query).map(changeIn);
    } catch (error) {
      if (onDamaged === undefined || !isDamage(storeFault(error))) throw error;
      return this.#oneByOne(query, onDamaged);
    }
  }

  /** Takes the names from their index, which lists the actors even where their rows cannot be read. */
  #oneByOne({ live, limit, after, ...which }: ListQuery, onDamaged: Damaged): readonly Change[] {
    const found: Change[] = [];
    for (let from = after; ;) {
      const names = this.#rows("kind, key", { ...which, limit: PAGE, ...(from === undefined ? {} : { after: from }) });
      for (const { kind, key } of names) {
        const id = actorId(kind, key);
        try {
          const columns = this.#sql.byName.get(text(kind), text(key));
          if (columns === undefined) throw damaged(`the row of ${id} is missing`);
          const change = changeIn(columns);
          if (live !== true || change.status !== "stopped") found.push(change);
        } catch (error) {
          onDamaged(damaged(`the row of ${id} cannot be read`, error), id);
        }
        if (found.length === limit) return found;
        from = id;
      }
      if (names.length < PAGE) return found;
    }
  }

  #rows(columns: string, { after, limit, ...which }: ListQuery): readonly Record<string, SQLOutputValue>[] {
    const { where, values } = conditions(which);
    if (after !== undefined) {
      const [kind, key] = split(after);
      // Within one kind, SQLite would not use a comparison of both columns to find where the page begins.
      const isOfKind = kind === which.kind;
      where.push(isOfKind ? "key > ?" : "(kind, key) > (?, ?)");
      values.push(...(isOfKind ? [key] : [kind, key]));
    }
    return this.#prepare(`SELECT ${columns} FROM actor${whereAll(where)} ORDER BY kind, key LIMIT ?`).all(...values, limit);
  }

  /** Actors without an owner condition are counted in `tally`, less those that have stopped. */
  count({ live, ...which }: Omit<ListQuery, "after" | "limit">): number {
    const { where, values } = conditions(which);
    const count = (select: string, more: readonly string[]): number =>
      int(this.#prepare(select + whereAll([...where, ...more])).get(...values)?.["n"]);
    if (which.owner !== undefined) return count("SELECT count(*) AS n FROM actor", live === true ? ["status <> 'stopped'"] : []);
    const all = count("SELECT coalesce(sum(n), 0) AS n FROM tally", []);
    return live === true ? all - count("SELECT count(*) AS n FROM actor", ["status = 'stopped'"]) : all;
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) this.#prepared.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }

  children(id: ActorId): readonly ActorId[] {
    return this.#sql.children.all(id).map((columns) => actorId(columns["kind"], columns["key"]));
  }

  find(uid: string): ActorId | undefined {
    const columns = this.#sql.byUid.get(uid);
    return columns && actorId(columns["kind"], columns["key"]);
  }

  /** By the time of the last event, not of the last message: an actor may have been idle for long when it was stopped. */
  ended(query: EndedQuery): EndedPage {
    const { kind, place } = endedAfter(query);
    const rows = this.#sql.ended.all(query.kind ?? null, kind, place, query.limit).map((columns) => ({
      id: actorId(columns["kind"], columns["key"]),
      head: text(columns["head"]),
      seq: int(columns["seq"]),
      endedAt: typeof columns["at"] === "number" ? columns["at"] : undefined,
      place: int(columns["id"]),
    }));
    return endedPage(rows, query);
  }

  /**
   * Soonest first. Stored `due` columns are lower bounds, since an expiry moves with every message and is not written each time. `stale`
   * are the actors found too early; the answer is right only when there are none.
   */
  due(
    before: number,
    limit: number,
    onDamaged?: Damaged,
    kinds?: readonly string[],
    after?: DuePlace,
  ): { readonly due: readonly Due[]; readonly stale: readonly StaleDue[] } {
    const report =
      onDamaged &&
      ((error: StoreError, { [AT.kind]: kind, [AT.key]: key }: Columns) => {
        if (typeof kind !== "string" || typeof key !== "string") return onDamaged(error);
        const id = actorId(kind, key);
        onDamaged(damaged(`the row of ${id} cannot be read`, error), id);
      });
    const due: Due[] = [];
    const stale: StaleDue[] = [];
    const place = [
      after?.at ?? -Number.MAX_VALUE,
      after === undefined ? 0 : int(this.#sql.pkOf.get(...split(after.id))?.["id"] ?? 0),
    ] as const;
    const select = (count: number) =>
      kinds === undefined
        ? this.#sql.due.all(before, ...place, count)
        : this.#sql.dueOfKinds.all(before, ...place, JSON.stringify(kinds), count);
    for (const { id, row, pk, pos, stored } of readableRows(limit, select, dueRowIn, report)) {
      const at = nextDue(row);
      if (at !== stored) stale.push({ id, pk, pos, at });
      due.push(...dueOf(id, row, before));
    }
    return { due: due.toSorted((a, b) => a.at - b.at).slice(0, limit), stale };
  }

  /** In a transaction. False for an actor that has had a turn meanwhile. */
  correct({ pk, pos, at }: StaleDue): boolean {
    return this.#sql.correct.run(at, pk, pos).changes === 1;
  }
}

function conditions({ kind, owner, live }: Omit<ListQuery, "after" | "limit">): { readonly where: string[]; readonly values: string[] } {
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
  return { where, values };
}

const whereAll = (all: readonly string[]): string => (all.length > 0 ? ` WHERE ${all.join(" AND ")}` : "");

const changeIn = (columns: Readonly<Record<string, SQLOutputValue>>): Change => ({
  id: actorId(columns["kind"], columns["key"]),
  seq: int(columns["seq"]),
  head: text(columns["head"]),
  status: statusIn(columns["status"]),
});

function dueRowIn(columns: Columns) {
  const { row } = rowIn(columns);
  const id = actorId(columns[AT.kind], columns[AT.key]);
  return { id, row, pk: int(columns[AT.id]), pos: int(columns[AT.pos]), stored: columns[AT.due] };
}
