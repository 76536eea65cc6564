// Owns: reading an actor's chain: its events, one event, states, differences, and the texts that were hashed. Does not own: checking it
// (verify-routes.ts), what led from one event to another (cause-routes.ts).

import { diffStates, readBody, readHeader } from "../../core/chain/index.ts";
import type { ActorId, ChainEvent, Json } from "../../core/contract/index.ts";
import { charactersIn, EventPages, omitUndefined } from "../../core/contract/internal.ts";
import { type ActorReader, stateAfter, yieldToEventLoop } from "../operate/index.ts";
import { requestBehind, withRequest } from "./causing-request.ts";
import { isLarger } from "./bounded.ts";
import type { ConsoleData } from "./data.ts";
import { changedBy, eventRow, eventRows } from "./event-rows.ts";
import { actorOf, badRequest, choiceIn, MAX_BYTES, notAvailable, notFound, numberIn, pageLimit, SEQ, stateOf, textIn } from "./requests.ts";
import type { ConsoleRequest, ConsoleRoute } from "./routes.ts";
import type { EventDetail, EventRow, EventTexts, PageOf, StateAt, StateDiff } from "./shapes.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 100;
const MAX_DIFFERENCES = 1_000;
const MAX_TEXTS = 500;

export const chainRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/actors/:kind/:key/events",
    summary:
      "The events of an actor's chain. With filters, at most 5,000 are examined, and of large events fewer are read: go on with `next`.",
    query: {
      after: { description: "Only those after this event, by its number.", schema: SEQ },
      before: {
        description: "Only those before this event, by its number. With `order=desc`, `next` is its value for the next page.",
        schema: SEQ,
      },
      limit: pageLimit(MAX_LIMIT, DEFAULT_LIMIT),
      type: { description: "Of this type only, such as tools/add." },
      principal: { description: "Done for this principal only." },
      search: { description: "Text that is in their arguments, changes or replies, in any case." },
      order: { description: "Newest first, or oldest first (default).", schema: { type: "string", enum: ["asc", "desc"] } },
    },
    answers: "PageOf<EventRow>",
    handle: async (request, data) => await events(request, data),
  },
  {
    verb: "GET",
    path: "/events/:id",
    summary: "One event, with the texts that were hashed.",
    answers: "EventDetail",
    handle: async ({ params }, data) => await eventDetail(params["id"] ?? "", data),
  },
  {
    verb: "GET",
    path: "/actors/:kind/:key/state",
    summary: "The state of an actor after an event, or now.",
    query: { at: { description: "The number of the event. Absent: the last one.", schema: SEQ } },
    answers: "StateAt",
    handle: async (request, data) => {
      const id = actorOf(request);
      return await stateAt(data.reader, id, numberIn(request, "at"));
    },
  },
  {
    verb: "GET",
    path: "/actors/:kind/:key/diff",
    summary: "Where the states after two events differ. At most 1,000 places.",
    query: {
      from: { description: "The number of an event; 0: before the first.", schema: SEQ },
      to: { description: "The number of another. Absent: the last one.", schema: SEQ },
    },
    answers: "StateDiff",
    handle: async (request, data) => await diff(request, data.reader),
  },
  {
    verb: "GET",
    path: "/actors/:kind/:key/texts",
    summary: "The texts of an actor's events that were hashed, oldest first: header and body. A page ends early where they are large.",
    query: {
      after: { description: "Only events after this one. Default: all.", schema: { ...SEQ, default: 0 } },
      limit: pageLimit(MAX_TEXTS, MAX_TEXTS),
    },
    answers: "PageOf<EventTexts>",
    handle: async (request, data) => await texts(request, data.reader),
  },
];

// ── events ──────────────────────────────────────────────────────────────────

const CHUNK = 200;
const MAX_EXAMINED = 5_000;
/** Of all events that one request reads: one may have megabytes. */
const MAX_CHARACTERS = 8 * 1_048_576;

type Filter = (event: ChainEvent) => boolean;

async function events(request: ConsoleRequest, data: ConsoleData): Promise<PageOf<EventRow>> {
  const { reader } = data;
  const id = actorOf(request);
  const { seq } = await stateOf(reader, id);
  const limit = numberIn(request, "limit") ?? DEFAULT_LIMIT;
  const after = numberIn(request, "after") ?? 0;
  const before = Math.min(numberIn(request, "before") ?? seq + 1, seq + 1);
  const filter = filterIn(request);
  const found: ChainEvent[] = [];
  const descending = choiceIn(request, "order", ["asc", "desc"]) === "desc";
  const pages = new EventPages(filter === undefined ? Math.min(limit, CHUNK) : CHUNK);
  // The numbers between which events have not been examined yet: both excluded.
  let low = after;
  let high = before;
  let examined = 0;
  let characters = 0;
  const isFull = (): boolean => found.length >= limit || characters >= MAX_CHARACTERS;
  while (high - low > 1 && !isFull() && examined < MAX_EXAMINED) {
    const from = descending ? Math.max(low, high - 1 - pages.size) : low;
    const wanted = Math.min(pages.size, high - 1 - from);
    const page = (await reader.events(id, from, wanted)).filter((event) => readHeader(event).seq < high);
    pages.read(page);
    for (const event of descending ? page.toReversed() : page) {
      examined += 1;
      characters += charactersIn([event]);
      const place = readHeader(event).seq;
      if (descending) high = place;
      else low = place;
      if (filter?.(event) !== false) found.push(event);
      if (isFull()) break;
    }
    if (isFull()) break;
    // Events that are not stored, as those of an actor in memory, leave a gap.
    if (descending) high = from + 1;
    else low = from + wanted;
    await yieldToEventLoop();
  }
  const ordered = descending ? found.toReversed() : found;
  const rows = (await eventRows(reader, ordered)).map((row) => withRequest(row, data));
  const isMore = high - low > 1;
  return { items: descending ? rows.toReversed() : rows, ...(isMore && { next: String(descending ? high : low) }) };
}

function filterIn(request: ConsoleRequest): Filter | undefined {
  const type = textIn(request, "type");
  const principal = textIn(request, "principal");
  const search = textIn(request, "search")?.toLowerCase();
  if (type === undefined && principal === undefined && search === undefined) return undefined;
  return (event) =>
    (type === undefined || readHeader(event).type === type) &&
    (principal === undefined || eventRow(event, []).principal === principal) &&
    (search === undefined || textOf(event).includes(search));
}

const textOf = ({ header, body = "" }: ChainEvent): string => `${header} ${body.length > MAX_BYTES ? "" : body}`.toLowerCase();

/** The form of an event's id. No message has such an id. */
export const EVENT_ID = /^[0-9a-f]{64}$/;

/** Throws `NOT_FOUND`. */
export async function eventOf(id: string, reader: ActorReader): Promise<ChainEvent> {
  const event = EVENT_ID.test(id) ? await reader.event(id) : undefined;
  if (event === undefined) throw notFound("There is no event of this id. Events of actors in memory cannot be found by theirs.");
  return event;
}

async function eventDetail(id: string, data: ConsoleData): Promise<EventDetail> {
  const { reader } = data;
  const event = await eventOf(id, reader);
  const body = readBody(event);
  const isLarge = (event.body?.length ?? 0) > MAX_BYTES;
  return {
    ...eventRow(event, await changedBy(reader, event), !isLarge),
    header: event.header,
    ...(!isLarge && omitUndefined({ body: event.body, record: body?.record })),
    ...(isLarge && { cut: true }),
    sentIds: body?.sent ?? [],
    ...omitUndefined({ request: await requestBehind(event, data), version: body?.version }),
  };
}

// ── states ──────────────────────────────────────────────────────────────────

async function stateAt(reader: ActorReader, actor: ActorId, at: number | undefined): Promise<StateAt> {
  const now = await stateOf(reader, actor);
  const isNow = at === undefined || at === now.seq;
  if (!isNow && now.persistence === "memory")
    throw notAvailable(`${actor} is in memory only: its earlier states are not stored. Give its kind the persistence "disk" to have them.`);
  if (at === 0) throw badRequest("at must be the number of an event: the first one is 1.");
  const { state, version } = isNow ? now : await stateAfter(reader, actor, at);
  if (Buffer.byteLength(JSON.stringify(state)) > MAX_BYTES)
    throw notAvailable(`The state of ${actor} is larger than 4 MiB: print it with "troupe replay".`);
  return { actor, seq: at ?? now.seq, version, state };
}

async function diff(request: ConsoleRequest, reader: ActorReader): Promise<StateDiff> {
  const actor = actorOf(request);
  const now = await stateOf(reader, actor);
  const from = numberIn(request, "from") ?? Math.max(0, now.seq - 1);
  const to = numberIn(request, "to") ?? now.seq;
  if (now.persistence === "memory") throw notAvailable(`${actor} is in memory only: its earlier states are not stored.`);
  const stateOfEvent = async (seq: number): Promise<Json> => (seq === 0 ? null : (await stateAfter(reader, actor, seq)).state);
  const differences = diffStates(await stateOfEvent(from), await stateOfEvent(to), MAX_DIFFERENCES);
  const values = differences.map(({ before = null, after = null }) => [before, after]);
  // The quick check counts neither names nor bytes, but saves writing a text of what is far too large.
  if (isLarger(values, MAX_BYTES) || Buffer.byteLength(JSON.stringify(differences)) > MAX_BYTES)
    throw notAvailable(`What differs in ${actor} is larger than 4 MiB: print it with "troupe diff".`);
  return { actor, from, to, differences };
}

// ── texts, for clients that verify the chain themselves (C7) ────────────────

/** Bodies may have megabytes: a page ends early, with at least one event. */
const MAX_TEXT_CHARACTERS = 1_048_576;
const TEXTS_AT_ONCE = 50;

async function texts(request: ConsoleRequest, reader: ActorReader): Promise<PageOf<EventTexts>> {
  const id = actorOf(request);
  await stateOf(reader, id);
  const after = numberIn(request, "after") ?? 0;
  const limit = numberIn(request, "limit") ?? MAX_TEXTS;
  const items: EventTexts[] = [];
  let characters = 0;
  const pages = new EventPages(TEXTS_AT_ONCE);
  while (items.length < limit && characters < MAX_TEXT_CHARACTERS) {
    const wanted = Math.min(pages.size, limit - items.length);
    const page = await reader.events(id, after + items.length, wanted);
    pages.read(page);
    for (const event of page) {
      if (characters >= MAX_TEXT_CHARACTERS) return { items, next: String(after + items.length) };
      characters += charactersIn([event]);
      const { id: hash, header, body } = event;
      items.push({ seq: after + items.length + 1, id: hash, header, ...omitUndefined({ body }) });
    }
    if (page.length < wanted) return { items };
  }
  return { items, next: String(after + items.length) };
}
