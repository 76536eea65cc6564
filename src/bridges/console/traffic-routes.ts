// Owns: the routes about clients: their messages, sessions and tasks. Does not own: recording them (traffic.ts).

import type { SessionReport, TaskReport } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import type { ConsoleData } from "./data.ts";
import { clientLabel } from "./json-rpc-text.ts";
import type { LiveRecorder } from "./live.ts";
import { type ConsoleRequest, type ConsoleRoute, RequestError } from "./routes.ts";
import type { PageOf, SessionRow, TaskRow, TrafficDetail, TrafficPage } from "./shapes.ts";

const MOST = 500;
const MOST_SEARCH = 256;
/** Characters searched in one round of the event loop: about two milliseconds. */
const SEARCHED_AT_ONCE = 1_048_576;
/** Sessions and tasks that are listed: there may be a hundred thousand. */
const MOST_LISTED = 1_000;

const LIMIT = { description: "At most so many.", schema: { type: "integer", minimum: 1, maximum: MOST, default: 100 } };

export const trafficRoutes: readonly ConsoleRoute<ConsoleData>[] = [
  {
    verb: "GET",
    path: "/traffic",
    summary: "The messages between clients and this server, newest first: the last 2,000.",
    query: {
      after: { description: "Only messages before this one: `next` of the page before.", schema: { type: "integer", minimum: 1 } },
      limit: LIMIT,
      method: { description: "Only of this method, such as tools/call." },
      session: { description: "Only of this session or client, by its name." },
      status: { description: "Only with this status: running, ok, error, tool-error, cancelled or notification." },
      search: { description: "Only with this text, in any letter case." },
    },
    answers: "TrafficPage",
    handle: async (request, data) => await trafficPage(request, recorder(data)),
  },
  {
    verb: "GET",
    path: "/traffic/:n",
    summary: "One message with its headers and its responses, without secrets.",
    answers: "TrafficDetail",
    handle: async ({ params }, data) => trafficDetail(params["n"] ?? "", recorder(data)),
  },
  {
    verb: "GET",
    path: "/sessions",
    summary: "Clients: sessions, connections, and clients of 2026-07-28 by name and principal. Those used last come first.",
    query: { limit: LIMIT },
    answers: "PageOf<SessionRow>",
    handle: async (request, data) => sessions(request, data, recorder(data)),
  },
  {
    verb: "GET",
    path: "/tasks",
    summary: "Calls that go on as tasks, and those that ended within the last hour. The newest come first.",
    query: { limit: LIMIT },
    answers: "PageOf<TaskRow>",
    handle: async (request, data) => tasks(request, recorder(data)),
  },
  {
    verb: "POST",
    path: "/tasks/:id/cancel",
    summary: "Cancels a task that runs.",
    answers: "TaskRow",
    handle: async ({ params }, data) => cancelTask(params["id"] ?? "", recorder(data)),
  },
];

function recorder({ live }: ConsoleData): LiveRecorder {
  if (live !== undefined) return live;
  throw new RequestError(409, "NOT_AVAILABLE", "Clients are not recorded here: GET /console/api says why.");
}

/** Throws `BAD_REQUEST`. */
function whole({ query }: Pick<ConsoleRequest, "query">, name: string, most: number): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new RequestError(400, "BAD_REQUEST", `${name} must be a whole number from 1 to ${most}.`);
}

async function trafficPage(request: ConsoleRequest, { traffic }: LiveRecorder): Promise<TrafficPage> {
  const { query } = request;
  const limit = whole(request, "limit", MOST) ?? 100;
  const before = whole(request, "after", Number.MAX_SAFE_INTEGER) ?? Infinity;
  const method = query.get("method") ?? "";
  const session = query.get("session") ?? "";
  const status = query.get("status") ?? "";
  const search = (query.get("search") ?? "").toLowerCase();
  if (search.length > MOST_SEARCH) throw new RequestError(400, "BAD_REQUEST", `search must have at most ${MOST_SEARCH} characters.`);
  const items = [];
  let searched = 0;
  for (const row of traffic.newest()) {
    if (searched > SEARCHED_AT_ONCE) {
      searched = 0;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    if (row.n >= before) continue;
    if (method !== "" && row.method !== method) continue;
    if (session !== "" && row.client.name !== session) continue;
    if (status !== "" && row.status !== status) continue;
    searched += search === "" ? 0 : row.size;
    if (search !== "" && !row.matches(search)) continue;
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: String(last.n), skipped: traffic.skipped };
    items.push(row.row());
  }
  return { items, skipped: traffic.skipped };
}

function trafficDetail(n: string, { traffic }: LiveRecorder): TrafficDetail {
  const row = /^\d{1,15}$/.test(n) ? traffic.find(Number(n)) : undefined;
  if (row !== undefined) return row.detail();
  throw new RequestError(404, "NOT_FOUND", `There is no message ${n.slice(0, 20)}: only the last 2,000 are kept.`);
}

function sessions(request: ConsoleRequest, { now }: ConsoleData, { traffic, reports }: LiveRecorder): PageOf<SessionRow> {
  const limit = whole(request, "limit", MOST) ?? 100;
  const known = new Map<string, SessionReport>();
  for (const report of reports)
    for (const session of report.sessions()) {
      known.set(session.name, session);
      if (known.size >= MOST_LISTED) break;
    }
  const rows: SessionRow[] = [];
  const at = now();
  for (const client of traffic.clients.all()) {
    const report = known.get(client.name);
    // A session that has ended.
    if (report === undefined && client.isSession) continue;
    known.delete(client.name);
    rows.push(client.row(at, report));
  }
  for (const report of known.values()) rows.push(unseen(report));
  rows.sort((one, other) => other.lastAt - one.lastAt);
  return { items: rows.slice(0, limit) };
}

/** A session that was not used since the recorder began. */
const unseen = ({ name, client, revision, principal, startedAt, seenAt, streams, subscriptions }: SessionReport): SessionRow => ({
  name,
  ...omitUndefined({ client: clientLabel(client), principal }),
  revision,
  startedAt,
  lastAt: seenAt,
  streams,
  requests: 0,
  errors: 0,
  p50Ms: 0,
  p99Ms: 0,
  subscriptions,
});

const taskRow = ({ id, principal, tool, status, createdAt, updatedAt, message }: TaskReport): TaskRow => ({
  id,
  ...omitUndefined({ principal, tool }),
  status,
  createdAt,
  updatedAt,
  ...omitUndefined({ message }),
});

function tasks(request: ConsoleRequest, { reports }: LiveRecorder): PageOf<TaskRow> {
  const limit = whole(request, "limit", MOST) ?? 100;
  const rows: TaskRow[] = [];
  for (const report of reports) for (const task of report.tasks()) rows.push(taskRow(task));
  rows.sort((one, other) => other.createdAt - one.createdAt);
  return { items: rows.slice(0, limit) };
}

function cancelTask(id: string, { reports }: LiveRecorder): TaskRow {
  for (const report of reports) {
    const isCancelled = report.cancelTask(id);
    if (isCancelled === undefined) continue;
    if (!isCancelled) throw new RequestError(409, "NOT_AVAILABLE", "This task has ended: there is nothing to cancel.");
    for (const task of report.tasks()) if (task.id === id) return taskRow(task);
  }
  throw new RequestError(404, "NOT_FOUND", `There is no task ${id.slice(0, 64)}: its time is over, or it never was.`);
}
