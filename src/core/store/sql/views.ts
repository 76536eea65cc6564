// Owns: the views that operators query: their names, columns and SQL. They are documented and stable; the tables below them are neither.
// Does not own: who may read what (access.ts), the functions they call (index.ts).

import type { SqlColumn, SqlView } from "../../contract/index.ts";
import { omitUndefined } from "../../contract/internal.ts";

/** A column, and the expression it is made of. */
interface Column extends SqlColumn {
  readonly sql: string;
}

/** A view, and how it is made. */
export interface ViewSource extends Pick<SqlView, "name" | "what"> {
  readonly columns: readonly Column[];
  /** One SELECT for each, put together by UNION ALL: what follows FROM. */
  readonly from: string;
  /** Values for the same columns, of other rows. */
  readonly more?: { readonly values: Readonly<Record<string, string>>; readonly from: string };
}

/** Functions that views call. Their names are random, so that queries cannot call them. */
export interface FunctionNames {
  /** (actor, id, seq, head, pos, full) → the state as JSON. */
  readonly state: string;
  /** (kind, arguments) → the arguments, or that they are hidden. */
  readonly args: string;
  /** (session's id) → what stands for it. */
  readonly session: string;
  /** (index's number) → its rows that were changed last, as JSON: [[actor's number, key, owner, …members], …]. */
  readonly recent: string;
}

const column = (name: string, type: SqlColumn["type"], sql: string, what?: string): Column =>
  what === undefined ? { name, type, sql } : { name, type, sql, what };

const ID = "a.kind || '/' || a.key";

/** Of the actor in `a`. */
const ofActor = (): readonly Column[] => [
  column("actor", "text", ID, "kind/key"),
  column("kind", "text", "a.kind"),
  column("key", "text", "a.key", "as in the id, percent-encoded"),
];

const messageColumns = (alias: string, { args }: FunctionNames): readonly Column[] => {
  const member = (path: string): string => `${alias}.message ->> '$.${path}'`;
  const to = member("to");
  return [
    column("receiver", "text", to, "the actor that it is for"),
    column("action", "text", member("action")),
    column("args", "json", `${args}(substr(${to}, 1, instr(${to}, '/') - 1), ${alias}.message -> '$.args')`, "secrets are [redacted]"),
    column("sender", "text", member("from"), "the actor that sent it"),
    column("principal", "text", member("viewer.principal"), "for whom it was sent"),
    column("cause", "text", member("cause"), "the event that sent it"),
    column("sent_at", "time", member("at")),
  ];
};

/** Of actors and messages: of the store's own file. */
export const actorViews = (names: FunctionNames): readonly ViewSource[] => [
  {
    name: "actors",
    what: "Actors, those that stopped included.",
    columns: [
      column("id", "text", ID, "kind/key"),
      column("kind", "text", "a.kind"),
      column("key", "text", "a.key", "as in the id, percent-encoded"),
      column("status", "text", "a.status", "live, failed or stopped"),
      column("owner", "text", "a.owner", "the principal it belongs to"),
      column("parent", "text", "a.parent", "the actor that started it"),
      column("seq", "integer", "a.seq", "of its last event"),
      column("head", "text", "a.head", "the id of its last event"),
      column("version", "integer", "a.version", "of its state"),
      column("created_at", "time", "a.rest ->> '$.createdAt'"),
      column("updated_at", "time", "(SELECT e.header ->> '$.at' FROM main.event e WHERE e.pos = a.pos)", "of its last event"),
      column("message_at", "time", "a.seen", "of its last message"),
      column("messages", "integer", "a.count", "that it has handled"),
      column("uid", "text", "a.uid"),
      column(
        "state",
        "json",
        `${names.state}(${ID}, a.id, a.seq, a.head, a.pos, a.full)`,
        "computed where it is selected; null: unreadable",
      ),
    ],
    from: "main.actor a",
  },
  {
    name: "events",
    what: "The events of all chains. It has no index: a query reads all of them.",
    columns: [
      ...ofActor(),
      column("seq", "integer", "e.seq"),
      column("id", "text", "e.id", "SHA-256 of its header"),
      column("type", "text", "e.header ->> '$.type'", "the action, or start, stop, checkpoint, fork, revert, edit"),
      column("at", "time", "e.header ->> '$.at'"),
      column("principal", "text", "e.body ->> '$.message.viewer.principal'", "for whom it was done"),
      column("sender", "text", "e.body ->> '$.message.from'", "the actor that sent the message"),
      column("cause", "text", "e.header ->> '$.cause'", "the event that sent the message"),
      column("life", "text", "e.header ->> '$.life'"),
      column("args", "json", "e.body -> '$.message.args'", "secrets are [redacted]"),
      column("reply", "json", "e.body -> '$.reply'"),
      column("patch", "json", "e.body -> '$.patch'", "what changed in the state"),
      column("state", "json", "e.body -> '$.state'", "only of events that store the whole state"),
      column("record", "json", "e.body -> '$.record'", "what record(…) added"),
      column("sent", "integer", "json_array_length(e.body, '$.sent')", "how many messages it sent"),
      column("bytes", "integer", "octet_length(e.header) + coalesce(octet_length(e.body), 0)"),
      column("erased", "boolean", "e.body IS NULL", "1: its body was erased"),
      column("position", "integer", "e.pos", "in the log: events of all actors, in order"),
    ],
    // An actor that was removed has no row, and its events may still be there for a while. `+`: never by an index that SQLite would have
    // to make of all events first, so that they are read in the order of the log.
    from: "main.event e JOIN main.actor a ON a.id = +e.actor",
  },
  {
    name: "letters",
    what: "Dead letters: messages that failed three times.",
    columns: [
      column("id", "text", "l.id"),
      column("at", "time", "l.at", "when it became a dead letter"),
      column("reason", "text", "l.why"),
      ...messageColumns("l", names),
      column("replays", "integer", "coalesce(l.message ->> '$.replays', 0)", "how often it was replayed"),
    ],
    from: "main.letter l",
  },
  {
    name: "outbox",
    what: "Messages between actors that are still to be delivered.",
    columns: [
      column("id", "text", "o.id"),
      ...messageColumns("o", names),
      column("failures", "integer", "o.failures", "how often it failed"),
    ],
    from: "main.outbox o",
  },
  {
    name: "timers",
    what: "Timers and expiries of actors.",
    columns: [
      ...ofActor(),
      column("name", "text", "w.key", "empty: the actor's expiry"),
      column("at", "time", "w.value ->> '$.at'"),
      column("action", "text", "w.value ->> '$.action'"),
      column("args", "json", `${names.args}(a.kind, w.value -> '$.args')`, "secrets are [redacted]"),
      column("every_ms", "integer", "w.value ->> '$.everyMs'"),
      column("cron", "text", "w.value ->> '$.cron'"),
      column("time_zone", "text", "w.value ->> '$.timeZone'"),
      column("cause", "text", "w.value ->> '$.cause'", "the event that set it"),
    ],
    from: "main.actor a, json_each(a.rest, '$.wakes') w WHERE a.due IS NOT NULL AND a.status <> 'stopped'",
    more: {
      values: { actor: ID, kind: "a.kind", key: "a.key", name: "''", at: "a.seen + (a.rest ->> '$.policy.expireMs')" },
      from: "main.actor a WHERE a.due IS NOT NULL AND a.status <> 'stopped' AND a.rest ->> '$.policy.expireMs' IS NOT NULL",
    },
  },
];

/** Of sessions and tasks, in a file of their own. `file`: the name it is attached as; undefined: there is none, so they are empty. */
export const sessionViews = (file: string | undefined, { session }: FunctionNames): readonly ViewSource[] => {
  const of = (table: string): string => (file === undefined ? "(SELECT NULL) WHERE 0" : `"${file}".${table}`);
  const views: readonly ViewSource[] = [
    {
      name: "sessions",
      what: "Sessions of MCP clients.",
      columns: [
        column("name", "text", `${session}(s.id)`, "stands for the session's id, which is a secret"),
        column("principal", "text", "f.row ->> '$.principal'"),
        column("client", "text", "f.row ->> '$.client.name'"),
        column("client_version", "text", "f.row ->> '$.client.version'"),
        column("revision", "text", "f.row ->> '$.protocol'", "of MCP"),
        column("created_at", "time", "f.row ->> '$.createdAt'"),
        column("seen_at", "time", "s.seen", "of its last request"),
        column("log_level", "text", "s.level"),
        column("subscriptions", "json", `(SELECT json_group_array(u.uri) FROM ${of("subscription u WHERE u.session = s.id")})`),
      ],
      from: of("session s") + (file === undefined ? "" : ` LEFT JOIN "${file}".session_fixed f ON f.session = s.id`),
    },
    {
      name: "tasks",
      what: "Calls that outlive their reply, until their results expire.",
      columns: [
        column("id", "text", "t.id"),
        column("principal", "text", "t.principal"),
        column("status", "text", "t.task ->> '$.status'"),
        column("message", "text", "t.task ->> '$.statusMessage'"),
        column("created_at", "time", "unixepoch(t.task ->> '$.createdAt', 'subsec') * 1000"),
        column("updated_at", "time", "unixepoch(t.task ->> '$.lastUpdatedAt', 'subsec') * 1000"),
        column("ended", "boolean", "t.over"),
        column("expires_at", "time", "t.until"),
      ],
      from: file === undefined ? of("task") : `(SELECT id, principal, told AS task, over, until FROM ${of("task")}) t`,
    },
  ];
  if (file !== undefined) return views;
  return views.map((view) => ({ ...view, columns: view.columns.map((one) => ({ ...one, sql: "NULL" })) }));
};

/** An index that a kind declares, as its table has it. */
export interface IndexSource {
  readonly id: number;
  readonly name: string;
  readonly kind: string;
  readonly fields: readonly string[];
  readonly isComplete: boolean;
}

/** A member of a row that was changed last. */
const valueAt = (n: number): string => `(r.value ->> ${n})`;

/** The view of an index: `index_<name>`. */
export function indexView(
  { id, name, kind, fields, isComplete }: IndexSource,
  functions: FunctionNames,
  taken: ReadonlySet<string>,
): ViewSource {
  const columns: Column[] = [
    column("actor", "text", `'${quoted(kind, "'")}/' || r.key`, "kind/key"),
    column("kind", "text", `'${quoted(kind, "'")}'`),
    column("key", "text", "r.key", "as in the id, percent-encoded"),
    column("owner", "text", "r.owner"),
  ];
  const recent = [`'${quoted(kind, "'")}/' || ${valueAt(1)}`, `'${quoted(kind, "'")}'`, valueAt(1), valueAt(2)];
  const recentRows = `${functions.recent}(${id}, '${quoted(JSON.stringify(fields), "'")}')`;
  const named = new Set(columns.map((one) => one.name));
  for (const [n, field] of fields.entries()) {
    const own = free(field.toLowerCase(), named);
    named.add(own);
    // Null is stored as a blob (row-table.ts).
    columns.push(column(own, "any", `nullif(r.c${n}, x'00')`));
    // All numbers of the table are doubles, so that 3 / 2 is 1.5.
    recent.push(`iif(typeof(${valueAt(n + 3)}) = 'integer', CAST(${valueAt(n + 3)} AS REAL), ${valueAt(n + 3)})`);
  }
  return {
    name: free(`index_${name.replaceAll(/[^a-z0-9_]/gi, "_")}`, taken),
    what: `The index ${name} of ${kind}${isComplete ? "" : ", which is incomplete now"}.`,
    columns,
    // What turns have changed last is not in the table yet (recent-rows.ts).
    from: `main.index_rows_${id} r WHERE r.actor NOT IN (SELECT n.value ->> 0 FROM json_each(${recentRows}) n)`,
    more: {
      values: Object.fromEntries(columns.map((one, n) => [one.name, recent[n] ?? "NULL"])),
      from: `json_each(${recentRows}) r`,
    },
  };
}

/** The name, or one like it that is not taken. */
function free(name: string, taken: ReadonlySet<string>): string {
  for (let n = 1, own = name; ; n += 1, own = `${name}_${n}`) if (!taken.has(own)) return own;
}

const quoted = (text: string, quote: "'" | '"'): string => text.replaceAll(quote, quote + quote);
const name = (text: string): string => `"${quoted(text, '"')}"`;

/** The SELECT that a view is. */
function selectOf({ columns, from, more }: ViewSource): string {
  const select = (sqlOf: (one: Column) => string, rest: string): string =>
    `SELECT ${columns.map((one) => `${sqlOf(one)} AS ${name(one.name)}`).join(", ")} FROM ${rest}`;
  const first = select((one) => one.sql, from);
  return more === undefined ? first : `${first} UNION ALL ${select((one) => more.values[one.name] ?? "NULL", more.from)}`;
}

/** The statements that make a view: what it reads is behind a second one, whose name queries cannot know (access.ts). */
export const createView = (view: ViewSource, hidden: string): string =>
  `CREATE TEMP VIEW ${name(hidden)} AS ${selectOf(view)}; CREATE TEMP VIEW ${name(view.name)} AS SELECT * FROM temp.${name(hidden)}`;

export const describeView = (view: ViewSource): SqlView => ({
  name: view.name,
  what: view.what,
  columns: view.columns.map((one) => ({ name: one.name, type: one.type, ...omitUndefined({ what: one.what }) })),
});
