// Owns: a store's file opened for queries: read-only, with the views, and nothing else that a query can reach; the rows of a result. Does
// not own: its process, and how long a query runs (bridges/sql).

import { existsSync } from "node:fs";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { type ActorId, type ChainEvent, isList, type Json, SqlError, type SqlResult, type SqlView } from "../../contract/index.ts";
import { cutText, isTexts, messageOf, tryParseJson } from "../../contract/internal.ts";
import { refusePipes } from "../database.ts";
import { EventTable } from "../event-table.ts";
import { RecentRows } from "../recent-rows.ts";
import { damaged, sqliteCode, storeFault } from "../store-errors.ts";
import { int, split, text } from "../columns.ts";
import { openReadableStore } from "../open-store.ts";
import { SESSIONS_VERSION } from "../sqlite-sessions.ts";
import { checkStatement, errorPlace, placeText, type ReadableNames, SqlAccess } from "./access.ts";
import {
  actorViews,
  createView,
  describeView,
  type FunctionNames,
  indexView,
  type IndexSource,
  sessionViews,
  type ViewSource,
} from "./views.ts";

export interface SqlDatabaseOptions {
  /** The store is `troupe.db` in it. */
  readonly directory: string;
  /** The file of sessions. It may be missing. */
  readonly sessions?: string;
  /** Random, and not known to the author of the query: names that queries must not reach begin with it. */
  readonly secret: string;
  /** Kinds without secret arguments: messages to others show none. */
  readonly open: readonly string[];
  /** The state after these events. */
  readonly stateOf: (events: readonly ChainEvent[]) => Json;
  /** What stands for a session's id. */
  readonly sessionName: (id: string) => string;
}

export interface SqlDatabase extends Disposable {
  readonly views: readonly SqlView[];
  /** Throws `SqlError`, `StoreError`. */
  query(sql: string, limit?: number): Omit<SqlResult, "ms">;
  close(): void;
}

/** A value of 64 MiB is more than a state may be (`maxStateBytes`) unless its author says so; the others bound what preparing costs. */
const LIMITS = {
  length: 67_108_864,
  sqlLength: 100_000,
  exprDepth: 100,
  compoundSelect: 50,
  column: 500,
  functionArg: 100,
  likePatternLength: 1_000,
};

/** Throws `StoreError`. For one query: another one must not know the names of this one. */
export function openSqlDatabase(options: SqlDatabaseOptions): SqlDatabase {
  return openReadableStore(options, (database) => {
    const { secret } = options;
    const names: FunctionNames = {
      state: `${secret}_state`,
      args: `${secret}_args`,
      session: `${secret}_session`,
      recent: `${secret}_recent`,
    };
    const file = attachSessions(database, options);
    const views = viewsOf(database, names, file);
    const hiddenOf = ({ name }: ViewSource): string => `${secret}_${name}`;
    const readable: ReadableNames = {
      views: new Set(views.map(({ name }) => name)),
      hidden: new Set(views.map(hiddenOf)),
      functions: new Set(Object.values(names)),
      tables: tablesOf(database, file),
    };
    const access = new SqlAccess(readable);
    addFunctions(database, names, options, access);
    // In memory: what a query sorts must not fill the disk.
    database.exec("PRAGMA temp_store = MEMORY");
    for (const view of views) database.exec(createView(view, hiddenOf(view)));
    database.exec("PRAGMA query_only = ON");
    Object.assign(database.limits, LIMITS);
    database.setAuthorizer((...action) => access.authorize(...action));
    return {
      views: views.map(describeView),
      query: (sql, limit) => run(database, access, sql, limit),
      close: () => database.close(),
      [Symbol.dispose]: () => database.close(),
    };
  });
}

const SESSIONS = "sessions_file";

/** The name that the file of sessions is attached as. Undefined: there is none, or another version wrote it, with other tables. */
function attachSessions(database: DatabaseSync, { sessions }: SqlDatabaseOptions): string | undefined {
  if (sessions === undefined || !existsSync(sessions)) return undefined;
  const url = pathToFileURL(sessions);
  url.searchParams.set("mode", "ro");
  try {
    refusePipes(sessions);
    database.prepare(`ATTACH ? AS ${SESSIONS}`).run(url.href);
    return database.prepare(`PRAGMA ${SESSIONS}.user_version`).get()?.["user_version"] === SESSIONS_VERSION ? SESSIONS : undefined;
  } catch {
    // Actors can be queried all the same.
    return undefined;
  }
}

function tablesOf(database: DatabaseSync, file: string | undefined): ReadonlySet<string> {
  const schemas = ["main", ...(file === undefined ? [] : [file])];
  const lists = [...schemas.map((schema) => `SELECT name FROM ${schema}.sqlite_schema`), "PRAGMA module_list"];
  return new Set(
    lists.flatMap((list) =>
      database
        .prepare(list)
        .all()
        .map(({ name }) => text(name).toLowerCase()),
    ),
  );
}

function viewsOf(database: DatabaseSync, names: FunctionNames, file: string | undefined): readonly ViewSource[] {
  const views = [...actorViews(names), ...sessionViews(file, names)];
  const taken = new Set(views.map(({ name }) => name));
  for (const index of indexesOf(database)) {
    const view = indexView(index, names, taken);
    taken.add(view.name);
    views.push(view);
  }
  return views;
}

/** Those whose rows have a table: one that was declared and never filled may have none. */
function indexesOf(database: DatabaseSync): readonly IndexSource[] {
  const rows = database.prepare(
    `SELECT id, name, kind, fields, state FROM content_index
     WHERE EXISTS(SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'index_rows_' || id) ORDER BY name LIMIT 200`,
  );
  return rows.all().map(({ id, name, kind, fields, state }) => {
    return {
      id: int(id),
      name: text(name),
      kind: text(kind),
      fields: textsIn(fields),
      isComplete: state === "complete",
    };
  });
}

/** None where it is no list of texts. */
function textsIn(value: SQLOutputValue | undefined): readonly string[] {
  const list = tryParseJson(text(value));
  return isList(list) && isTexts(list) ? list : [];
}

function addFunctions(
  database: DatabaseSync,
  names: FunctionNames,
  { open, stateOf, sessionName }: SqlDatabaseOptions,
  access: SqlAccess,
): void {
  const log = new EventTable(database);
  const pure = { deterministic: true };
  database.function(names.state, pure, (id, pk, seq, head, pos, full) => {
    try {
      const end = { pk: int(pk), seq: int(seq), head: text(head), pos: int(pos), full: int(full) };
      const [kind, key] = split(text(id));
      const actor: ActorId = `${kind}/${key}`;
      return JSON.stringify(stateOf(access.trusted(() => log.tail(actor, end))));
    } catch {
      // One actor that is damaged must not end a query over all.
      return null;
    }
  });
  const known = new Set(open);
  database.function(names.args, pure, (kind, args) => {
    if (typeof args !== "string" || args === "{}" || args === "null") return typeof args === "string" ? args : null;
    return typeof kind === "string" && known.has(kind) ? args : HIDDEN_ARGS;
  });
  const recent = new RecentRows(database);
  database.function(names.recent, pure, (content, fields) => {
    const rows = access.trusted(() => {
      recent.forget();
      if (recent.isDamaged) throw damaged("rows of indexes");
      return recent.of(int(content), textsIn(fields));
    });
    return JSON.stringify(Array.from(rows.values(), ({ pk, key, owner, columns }) => [pk, key, owner, ...columns]));
  });
  database.function(names.session, pure, (id) => (typeof id === "string" ? sessionName(id) : null));
}

const HIDDEN_ARGS = '"[redacted]"';

function run(database: DatabaseSync, access: SqlAccess, sql: string, limit = MAX_ROWS): Omit<SqlResult, "ms"> {
  checkStatement(sql);
  try {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    statement.setReadBigInts(true);
    const columns = statement.columns().map(({ name }) => name);
    const found = new ResultRows(Math.min(limit, MAX_ROWS));
    for (const row of statement.iterate()) if (!found.add(Object.values<SQLOutputValue>(row))) break;
    return { columns, rows: found.rows, ...found.marks };
  } catch (error) {
    throw access.takeRefusal() ?? faultOf(database, access, sql, error);
  }
}

/** Of what was written, as `SQL_WRONG` with its place; of the file, as a `StoreError`. */
function faultOf(database: DatabaseSync, access: SqlAccess, sql: string, error: unknown): Error {
  const message = messageOf(error);
  // SQLITE_ERROR, TOOBIG, MISMATCH, RANGE; and no code: Node's own refusal of a value.
  if (![1, 18, 20, 25, undefined].includes(sqliteCode(error))) return storeFault(error);
  const at = errorPlace(sql, message, (start) => failureOf(database, access, start));
  return new SqlError("SQL_WRONG", at === undefined ? `${message}.` : `${message}, at ${placeText(sql, at)}.`, at);
}

function failureOf(database: DatabaseSync, access: SqlAccess, sql: string): string | undefined {
  try {
    database.prepare(sql);
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    access.takeRefusal();
  }
}

// ── the rows of a result ────────────────────────────────────────────────────

const MAX_ROWS = 1_000;
/** In characters of JSON, about. */
const MAX_SIZE = 1_048_576;
/** A longer text is shortened. */
const MAX_TEXT = 65_536;
const MAX_BLOB = 64;
/** A value's comma, and what it takes besides its text. */
const EACH = 8;

/** Rows until there are enough. */
class ResultRows {
  readonly rows: (readonly Json[])[] = [];
  readonly #limit: number;
  #size = 0;
  #shortened = 0;
  #cut: SqlResult["cut"];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: it was not added, and no more are. */
  add(values: readonly SQLOutputValue[]): boolean {
    if (this.rows.length >= this.#limit) {
      this.#cut = "rows";
      return false;
    }
    const shortenedBefore = this.#shortened;
    const row = values.map((value) => this.#valueOf(value));
    const size = row.reduce<number>((sum, value) => sum + EACH + (typeof value === "string" ? value.length : 0), 0);
    // One row always fits: otherwise a wide one could not be seen at all.
    if (this.rows.length > 0 && this.#size + size > MAX_SIZE) {
      this.#cut = "size";
      this.#shortened = shortenedBefore;
      return false;
    }
    this.#size += size;
    this.rows.push(row);
    return true;
  }

  get marks(): Pick<SqlResult, "cut" | "shortened"> {
    return { ...(this.#cut !== undefined && { cut: this.#cut }), ...(this.#shortened > 0 && { shortened: this.#shortened }) };
  }

  #valueOf(value: SQLOutputValue): Json {
    if (value === null) return null;
    if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (typeof value === "string") {
      if (value.length <= MAX_TEXT) return value;
      this.#shortened += 1;
      return `${cutText(value, MAX_TEXT)}…`;
    }
    if (value.length > MAX_BLOB) this.#shortened += 1;
    return `x'${Buffer.from(value.subarray(0, MAX_BLOB)).toString("hex")}${value.length > MAX_BLOB ? "…" : ""}'`;
  }
}
