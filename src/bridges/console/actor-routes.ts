// Owns: the list of actors, one actor in detail, and its mailbox. Does not own: its chain (chain-routes.ts), what it offers (surface-routes.ts).

import {
  type ActorId,
  type Change,
  isJsonObject,
  type JsonObject,
  type Message,
  type Row,
  type Status,
  type Viewer,
} from "../../core/contract/index.ts";
import { encodedKeyOf, isActorId, keyIn, kindOf, omitUndefined } from "../../core/contract/internal.ts";
import { readHeader } from "../../core/chain/index.ts";
import { type ActorState, yieldToEventLoop } from "../operate/index.ts";
import { isLarger } from "./bounded.ts";
import type { ConsoleData } from "./data.ts";
import {
  actorOf,
  badRequest,
  behaviourOf,
  choiceIn,
  MAX_BYTES,
  notAvailable,
  notFound,
  numberIn,
  objectIn,
  pageLimit,
  redactedArgs,
  serverOf,
  stateOf,
  textIn,
  unlessDamaged,
} from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, LONG_TEXT } from "./routes.ts";
import { timerRow } from "./queue-routes.ts";
import type { ActorDetail, ActorPage, ActorRow, AppResource, MailboxRow, MailboxShape, TimerRow } from "./shapes.ts";

const STATUSES = ["live", "failed", "stopped"] as const;
const ORDERS = ["asc", "desc"] as const;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export const actorRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/actors",
    summary: "Lists actors, in the order of kinds, then of keys; or those that an index finds.",
    query: {
      kind: { description: "Of this kind only." },
      status: { description: "Of this status only.", schema: { type: "string", enum: STATUSES } },
      search: {
        description:
          "Text that is in their ids, in any case. An actor with this id or key comes first. At most 20,000 others are examined: go on with `next`.",
        schema: LONG_TEXT,
      },
      index: { description: "The name of an index: its order, `where` and `text` apply." },
      where: { description: "With `index`: a JSON object of conditions by field.", schema: { type: "string" } },
      text: { description: "With `index`: words that the actors' texts must have." },
      order: { description: "With `index`: of its order.", schema: { type: "string", enum: ORDERS } },
      after: { description: "`next` of the page before.", schema: LONG_TEXT },
      limit: pageLimit(MAX_LIMIT, DEFAULT_LIMIT),
    },
    answers: "ActorPage",
    handle: async (request, data) => (textIn(request, "index") === undefined ? await list(request, data) : await query(request, data)),
  },
  {
    verb: "GET",
    path: "/actors/:kind/:key",
    summary: "One actor: its state, timers, children, and what is known of it.",
    answers: "ActorDetail",
    handle: async (request, data) => await detail(actorOf(request), data),
  },
  {
    verb: "GET",
    path: "/actors/:kind/:key/mailbox",
    summary: "What an actor is doing now, and the first 100 messages that wait for it.",
    answers: "MailboxShape",
    handle: async (request, data) => mailbox(actorOf(request), data),
  },
];

const limitOf = (request: ConsoleRequest): number => numberIn(request, "limit") ?? DEFAULT_LIMIT;

function rowOf(id: ActorId, status: Status, seq: number): ActorRow {
  return { id, kind: kindOf(id), key: keyIn(id) ?? encodedKeyOf(id), status, seq };
}

// ── the list ────────────────────────────────────────────────────────────────

const PAGE = 1_000;
/** A search that finds nothing must end. */
const MAX_EXAMINED = 20_000;

async function list(request: ConsoleRequest, data: ConsoleData): Promise<ActorPage> {
  const { reader } = data;
  const kind = textIn(request, "kind");
  const status = choiceIn(request, "status", STATUSES);
  const search = textIn(request, "search")?.toLowerCase();
  const limit = limitOf(request);
  const named = await actorsNamed(textIn(request, "search"), kind, data);
  const hasStatus = ({ status: own }: { readonly status: Status }): boolean => status === undefined || own === status;
  const matches = (change: Change): boolean =>
    hasStatus(change) && (search === undefined || isIn(change.id, search)) && !named.some(({ id }) => id === change.id);
  const isFiltered = status !== undefined || search !== undefined;
  const pageSize = isFiltered ? PAGE : limit;
  let after = placeIn(request);
  const items: ActorRow[] = after === undefined ? named.filter(hasStatus) : [];
  let examined = 0;
  let next: ActorId | undefined;
  for (;;) {
    const live = status === "live" || status === "failed" ? true : undefined;
    // Rows that cannot be read are skipped here: `verify` reports them.
    const page = await reader.list({ limit: pageSize, ...omitUndefined({ kind, after, live }) }, () => undefined);
    for (const change of page) {
      examined += 1;
      next = change.id;
      if (matches(change)) items.push(rowOf(change.id, change.status, change.seq));
      if (items.length >= limit) break;
    }
    if (items.length >= limit) break;
    if (page.length < pageSize) {
      next = undefined;
      break;
    }
    if (examined >= MAX_EXAMINED) break;
    after = next;
    await yieldToEventLoop();
  }
  const dated = limit > MOST_DATED || data.about.engine === "restate" ? items : await withTimes(items, data);
  const total = isFiltered ? undefined : await reader.count?.(omitUndefined({ kind }));
  return { items: dated, ...omitUndefined({ next, total }), ...(isFiltered && next !== undefined && { examined }) };
}

/** Each is read for its time. A cluster would be requested for each. */
const MOST_DATED = 100;

/** With the times of their last events. */
async function withTimes(rows: readonly ActorRow[], { reader }: ConsoleData): Promise<readonly ActorRow[]> {
  const dated: ActorRow[] = [];
  for (const row of rows) {
    const [last] = (await unlessDamaged(reader.events(row.id, Math.max(0, row.seq - 1), 1))) ?? [];
    dated.push(last === undefined ? row : { ...row, lastAt: readHeader(last).at });
    if (dated.length % READ_AT_ONCE === 0) await yieldToEventLoop();
  }
  return dated;
}

function placeIn(request: ConsoleRequest): ActorId | undefined {
  const after = textIn(request, "after");
  if (after === undefined) return undefined;
  if (!isActorId(after)) throw badRequest("after must be `next` of the page before.");
  return after;
}

const MOST_KINDS = 100;

/** Those whose id or key the text is. They come first: there may be a million actors before them. */
async function actorsNamed(
  text: string | undefined,
  only: string | undefined,
  { reader, running }: ConsoleData,
): Promise<readonly ActorRow[]> {
  if (text === undefined) return [];
  const kinds = only === undefined ? (running?.().kinds ?? []).map(({ kind }) => kind).slice(0, MOST_KINDS) : [only];
  const ids = new Set([text, ...kinds.map((kind) => `${kind}/${encodeURIComponent(text)}`)]);
  const found: ActorRow[] = [];
  for (const id of ids) {
    if (!isActorId(id) || (only !== undefined && kindOf(id) !== only)) continue;
    const state = await unlessDamaged(reader.state(id));
    if (state !== undefined) found.push(rowOf(id, state.status, state.seq));
  }
  return found;
}

/** As people read it: the key decoded. */
const isIn = (id: ActorId, search: string): boolean =>
  id.toLowerCase().includes(search) || (id.includes("%") && `${kindOf(id)}/${keyIn(id) ?? ""}`.toLowerCase().includes(search));

// ── by an index ─────────────────────────────────────────────────────────────

/** Actors that an index finds are read one by one. */
const READ_AT_ONCE = 25;

async function query(request: ConsoleRequest, data: ConsoleData): Promise<ActorPage> {
  const { engine, indexes } = serverOf(data);
  const name = textIn(request, "index");
  const index = indexes.find((one) => one.name === name);
  if (index === undefined || engine.query === undefined)
    throw notFound(`There is no index of this name: GET /console/api lists the indexes of each kind.`);
  const page = await engine.query(index, {
    limit: limitOf(request),
    ...omitUndefined({
      where: objectIn(request, "where"),
      text: textIn(request, "text"),
      order: choiceIn(request, "order", ORDERS),
      cursor: request.query.get("after") ?? undefined,
    }),
  });
  const items: ActorRow[] = [];
  for (const item of page.items) {
    const { id } = item;
    const found = await unlessDamaged(data.reader.state(id));
    // It was removed since the index was read, or is damaged.
    if (found !== undefined) items.push({ ...rowOf(id, found.status, found.seq), lastAt: found.lastMessageAt, fields: fieldsOf(item) });
    if (items.length % READ_AT_ONCE === 0) await yieldToEventLoop();
  }
  return { items, ...omitUndefined({ next: page.next }) };
}

function fieldsOf(item: object): JsonObject {
  return isJsonObject(item) ? Object.fromEntries(Object.entries(item).filter(([name]) => name !== "id" && name !== "key")) : {};
}

// ── one actor ───────────────────────────────────────────────────────────────

async function detail(id: ActorId, data: ConsoleData): Promise<ActorDetail> {
  const { reader } = data;
  const found = await stateOf(reader, id);
  const row = await reader.row?.(id);
  const children = (await reader.children?.(id)) ?? [];
  const stateBytes = Buffer.byteLength(JSON.stringify(found.state));
  const failure = reader.health?.(id)?.failure;
  const [last] = await reader.events(id, Math.max(0, found.seq - 1), 1);
  const lastEventAt = last === undefined ? undefined : readHeader(last).at;
  const lastFault = data.live?.faulted.get(id);
  const { seq, head, status, uid, version, createdAt, lastMessageAt, messageCount } = found;
  return {
    ...rowOf(id, status, seq),
    lastAt: lastMessageAt,
    uid,
    head,
    version,
    createdAt,
    lastMessageAt,
    messageCount,
    persistence: found.persistence ?? "disk",
    ...omitUndefined({ lastEventAt, lastFault, owner: found.owner ?? row?.owner, parent: row?.parent, muted: row?.muted }),
    children: children.slice(0, MAX_LIMIT),
    childCount: children.length,
    state: stateBytes > MAX_BYTES ? null : found.state,
    ...(stateBytes > MAX_BYTES && { stateTooLarge: true }),
    stateBytes,
    ...omitUndefined({ queued: data.running?.().engine.queued?.(id) }),
    timers: row === undefined ? [] : timersOf(id, row, data),
    pending: row === undefined ? 0 : Object.keys(row.pending).length,
    ...(status === "failed" && {
      failure: { code: "ACTOR_FAILED", message: failure ?? `${id} has failed: the server's log says why. Restart it to try again.` },
    }),
    links: linksOf(id, found, data),
    apps: appsOf(id, data),
  };
}

/** Soonest first. */
function timersOf(id: ActorId, { wakes, policy, lastMessageAt, status }: Row, data: ConsoleData): readonly TimerRow[] {
  const timers = Object.entries(wakes).map(([name, wake]) => timerRow(id, name, wake, data));
  if (policy?.expireMs !== undefined && status !== "stopped") timers.push({ actor: id, name: "", at: lastMessageAt + policy.expireMs });
  return timers.toSorted((one, other) => one.at - other.at);
}

const OPERATOR: Viewer = { principal: "operator", scopes: [] };

/** Of an actor whose code fails there are none: its faults are in the log. */
function linksOf(id: ActorId, { state, status, version }: ActorState, data: ConsoleData): Readonly<Record<string, ActorId>> {
  const behaviour = behaviourOf(data, id);
  if (behaviour?.surface === undefined || status === "stopped" || version !== behaviour.version) return {};
  try {
    return behaviour.surface(state, { ...OPERATOR, self: id }).links ?? {};
  } catch {
    return {};
  }
}

const APP = "text/html;profile=mcp-app";

/** A template has no page of its own. */
function appsOf(id: ActorId, data: ConsoleData): readonly AppResource[] {
  const resources = behaviourOf(data, id)?.catalogue?.resources ?? [];
  return resources.flatMap(({ name, definition: { uri, mimeType, title } }) =>
    typeof uri === "string" && uri.startsWith("ui://") && mimeType === APP
      ? [{ name, uri, ...(typeof title === "string" && { title }) }]
      : [],
  );
}

// ── its mailbox ─────────────────────────────────────────────────────────────

const MAX_WAITING = 100;
/** In characters, about. Longer arguments are left out. */
const MAX_ARGS = 16_384;

function mailbox(id: ActorId, data: ConsoleData): MailboxShape {
  const { engine } = serverOf(data);
  if (engine.mailbox === undefined) throw notAvailable("The mailboxes of this engine are not in this process.");
  const { phase, queued, waiting, working } = engine.mailbox(id, MAX_WAITING);
  return {
    phase,
    queued,
    waiting: waiting.map((message) => mailboxRow(message, data)),
    ...(working !== undefined && { working: mailboxRow(working, data) }),
  };
}

function mailboxRow(message: Message, data: ConsoleData): MailboxRow {
  const { id, action, at, from, cause, viewer } = message;
  const args = redactedArgs(data, message);
  return { id, action, args: isLarger(args, MAX_ARGS) ? null : args, at, ...omitUndefined({ from, cause, principal: viewer?.principal }) };
}
