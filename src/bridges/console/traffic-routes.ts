// Owns: the routes about clients: their messages, sessions and tasks. Does not own: recording them (traffic.ts).

import type { SessionReport } from "../../core/contract/index.ts";
import { omitUndefined } from "../../core/contract/internal.ts";
import { yieldToEventLoop } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import { clientLabel } from "./message-text.ts";
import type { LiveRecorder } from "./live.ts";
import { choiceIn, notAvailable, notFound, numberIn, pageLimit, SEQ, textIn } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { PageOf, SeenCaller, SessionRow, TaskRow, TrafficDetail, TrafficPage, TrafficRow } from "./shapes.ts";

const MOST = 500;
/** Characters searched in one round of the event loop: about two milliseconds. */
const SEARCHED_AT_ONCE = 1_048_576;
/** Sessions and tasks that are listed: there may be a hundred thousand. */
const MOST_LISTED = 1_000;

const PAGE = 100;
const WHERE = ["requests", "all"] as const;
const LIMIT = pageLimit(MOST, PAGE);

export const trafficRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/traffic",
    summary: "The messages between clients and this server, newest first: the last 2,000.",
    query: {
      after: { description: "Only messages before this one: `next` of the page before.", schema: { ...SEQ, minimum: 1 } },
      limit: LIMIT,
      method: { description: "Only of this method, such as tools/call." },
      transport: {
        description: "Only over this transport; `packets`: over any that carries packets.",
        schema: {
          type: "string",
          enum: ["http", "stdio", "tcp", "memory", "packets", "packets-http", "packets-websocket", "packets-tcp"],
        },
      },
      session: { description: "Only of this session or client, by its name." },
      status: {
        description: "Only with this status.",
        schema: { type: "string", enum: ["running", "ok", "error", "tool-error", "cancelled", "notification"] },
      },
      principal: { description: "Only of this principal." },
      slow: { description: "Only those that took so many milliseconds or longer.", schema: { type: "integer", minimum: 1 } },
      search: { description: "Only with this text, in any letter case." },
      in: {
        description: "Where the text is searched: also in what was answered (default), or in requests only.",
        schema: { type: "string", enum: WHERE },
      },
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
    path: "/traffic-details",
    summary: "All messages with their headers and responses, newest first, without secrets. A page ends before a million characters.",
    query: {
      after: { description: "Only messages before this one: `next` of the page before.", schema: { ...SEQ, minimum: 1 } },
      limit: LIMIT,
    },
    answers: "PageOf<TrafficDetail>",
    handle: async (request, data) => trafficDetails(request, recorder(data)),
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
    path: "/callers",
    summary: "The principals that have called since the server started, with their scopes and claims as they were then. At most 200.",
    answers: "PageOf<SeenCaller>",
    handle: async (_, data) => ({ items: recorder(data).traffic.clients.callers() }) satisfies PageOf<SeenCaller>,
  },
  {
    verb: "GET",
    path: "/tasks",
    summary:
      "Calls that go on as tasks, and those that ended within the last hour, of earlier processes too. The newest come first. `lost`: it ran when its process ended.",
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
  throw notAvailable("Clients are not recorded here: GET /console/api says why.");
}

async function trafficPage(request: ConsoleRequest, { traffic }: LiveRecorder): Promise<TrafficPage> {
  const limit = numberIn(request, "limit") ?? PAGE;
  const before = numberIn(request, "after") ?? Infinity;
  const method = textIn(request, "method");
  const transport = textIn(request, "transport");
  const session = textIn(request, "session");
  const status = textIn(request, "status");
  const principal = textIn(request, "principal");
  const slow = numberIn(request, "slow");
  const search = textIn(request, "search")?.toLowerCase();
  const inResponses = choiceIn(request, "in", WHERE) !== "requests";
  const items: TrafficRow[] = [];
  let next: string | undefined;
  let searched = 0;
  for (const row of traffic.rows.newest()) {
    if (searched > SEARCHED_AT_ONCE) {
      searched = 0;
      await yieldToEventLoop();
    }
    if (row.n >= before) continue;
    if (principal !== undefined && row.principal !== principal) continue;
    if (slow !== undefined && (row.isLasting || row.ms === undefined || row.ms < slow)) continue;
    if (method !== undefined && row.method !== method) continue;
    if (transport !== undefined && row.transport !== transport && !(transport === "packets" && row.transport.startsWith("packets-")))
      continue;
    if (session !== undefined && row.client.name !== session) continue;
    if (status !== undefined && row.status !== status) continue;
    if (search !== undefined) {
      searched += row.size;
      if (!row.matches(search, inResponses)) continue;
    }
    if (items.length === limit) {
      next = items.at(-1)?.n.toString();
      break;
    }
    items.push(row.row());
  }
  return { items, ...omitUndefined({ next }), skipped: traffic.skipped, ...partiesOf(traffic) };
}

/** Of all messages, so that a page can offer them as filters whatever it has loaded. */
function partiesOf(traffic: LiveRecorder["traffic"]): Pick<TrafficPage, "sessions" | "principals"> {
  const names = new Set<string>();
  const principals = new Set<string>();
  for (const { client, principal } of traffic.rows.newest()) {
    if (client.name !== "") names.add(client.name);
    if (principal !== undefined) principals.add(principal);
  }
  return { sessions: [...names].toSorted(), principals: [...principals].toSorted() };
}

function trafficDetail(n: string, { traffic }: LiveRecorder): TrafficDetail {
  const row = /^\d{1,15}$/.test(n) ? traffic.rows.find(Number(n)) : undefined;
  if (row !== undefined) return row.detail();
  throw notFound(`There is no message ${n.slice(0, 20)}: only the last 2,000 are stored.`);
}

function trafficDetails(request: ConsoleRequest, { traffic }: LiveRecorder): PageOf<TrafficDetail> {
  const before = numberIn(request, "after") ?? Infinity;
  const limit = numberIn(request, "limit") ?? PAGE;
  const items: TrafficDetail[] = [];
  let size = 0;
  for (const row of traffic.rows.newest()) {
    if (row.n >= before) continue;
    const last = items.at(-1);
    if (last !== undefined && (items.length === limit || size + row.size > SEARCHED_AT_ONCE)) return { items, next: String(last.n) };
    size += row.size;
    items.push(row.detail());
  }
  return { items };
}

function sessions(request: ConsoleRequest, { now }: ConsoleData, { traffic, reports }: LiveRecorder): PageOf<SessionRow> {
  const limit = numberIn(request, "limit") ?? PAGE;
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

async function tasks(request: ConsoleRequest, { reports }: LiveRecorder): Promise<PageOf<TaskRow>> {
  const limit = numberIn(request, "limit") ?? PAGE;
  const rows: TaskRow[] = [];
  for (const report of reports) {
    rows.push(...report.tasks());
    for (const task of await report.earlierTasks(limit)) rows.push({ ...task, earlier: true });
  }
  return { items: rows.toSorted((one, other) => other.createdAt - one.createdAt).slice(0, limit) };
}

function cancelTask(id: string, { reports }: LiveRecorder): TaskRow {
  for (const report of reports) {
    const isCancelled = report.cancelTask(id);
    if (isCancelled === undefined) continue;
    if (!isCancelled) throw notAvailable("This task has ended: there is nothing to cancel.");
    for (const task of report.tasks()) if (task.id === id) return task;
  }
  throw notFound(`There is no task ${id.slice(0, 64)}: its time is over, or it never was.`);
}
