// Owns: what has left an actor's own key: older events in segments, older replies, and when those expire. Does not own: when they leave
// (stored-actor.ts, turn-writes.ts), the form of events (event-lines.ts).
//
// It is a virtual object of its own, since all state keys of an object travel with each of its turns; from this one only what is
// requested is read. A state key is read and written as a whole, and the server limits its length. So an event that is too long has a
// key of its own, and its line in the segment has no body. Expiries are stored in pages, oldest first: one list would be rewritten with
// every few keyed calls, and grow too long.
import { StoreError, type ActorId, type ChainEvent } from "../../core/contract/index.ts";
import { tryParseJson } from "../../core/contract/internal.ts";
import { exportLine } from "../../core/chain/index.ts";
import type { DurableReader, DurableWriter } from "./durable-context.ts";
import { isObject } from "./handler-inputs.ts";
import { isStoredReply, type StoredReply } from "./stored-actor.ts";
import { eventsIn } from "./event-lines.ts";

/** State keys are UTF-8, in which all lone surrogates would be the same. */
const replyKey = (key: string): string => (key.isWellFormed() ? `reply/${key}` : `reply-escaped/${JSON.stringify(key)}`);

/** Successive events. */
export interface EventRun {
  /** Seq of the first event. */
  readonly seq: number;
  /** Number of events. */
  readonly count: number;
  /** As `event-lines.ts` writes them. */
  readonly lines: string;
}

/** What a turn moves to the archive. */
export interface ArchiveInput extends EventRun {
  readonly replies: readonly StoredReply[];
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Exclusive and idempotent. Throws if it cannot be stored, since no one else has what an actor moved here. */
export async function putInArchive(context: DurableWriter, id: ActorId, input: unknown): Promise<void> {
  if (!isArchiveInput(input)) throw new StoreError("STORE_CORRUPT", "This is nothing an actor puts into its archive.");
  await putEvents(context, id, input);
  if (input.replies.length > 0) await putReplies(context, input);
}

async function putReplies(context: DurableWriter, { replies, now }: ArchiveInput): Promise<void> {
  for (const reply of replies) context.set(replyKey(reply.key), JSON.stringify(reply));
  await addExpiries(
    context,
    replies.map(({ key, until }) => [key, until]),
  );
  await sweepExpiries(context, now, async (key) => {
    const reply = await archivedReply(context, key);
    // The key may have been used again since.
    if (reply === undefined || reply.until <= now) context.clear(replyKey(key));
  });
}

/** Shared. */
export async function archivedReply(context: DurableReader, key: string): Promise<StoredReply | undefined> {
  const reply = tryParseJson(await context.get(replyKey(key)));
  return isStoredReply(reply) ? reply : undefined;
}

function isArchiveInput(value: unknown): value is ArchiveInput {
  if (!isObject(value)) return false;
  const { seq, count, lines, replies, now } = value;
  return (
    typeof now === "number" &&
    typeof seq === "number" &&
    typeof count === "number" &&
    typeof lines === "string" &&
    Array.isArray(replies) &&
    replies.every(isStoredReply)
  );
}

// ── events, in segments ────────────────────────────────────────────────────────

/** Events in one segment. */
const SEGMENT_EVENTS = 32;
/** A longer event has a state key of its own. */
const MAX_EVENT_CHARACTERS = 65_536;
/** Of bodies in one answer, which has at least one event. */
const ANSWER_CHARACTERS = 1_048_576;

const segmentKey = (index: number): string => `events/${index}`;
const longEventKey = (index: number, within: number): string => `events/${index}.${within}`;

/** A range of archived events: after one seq, up to another. */
export interface SeqRange {
  readonly after: number;
  readonly until: number;
}

/** Which events are stored under that state key. Undefined if it stores none. */
export function seqRangeOf(name: string): SeqRange | undefined {
  const [, segment, within] = /^events\/(\d+)(?:\.(\d+))?$/.exec(name) ?? [];
  if (segment === undefined) return undefined;
  const first = Number(segment) * SEGMENT_EVENTS;
  return within === undefined
    ? { after: first, until: first + SEGMENT_EVENTS }
    : { after: first + Number(within), until: first + Number(within) + 1 };
}

/** Idempotent. */
async function putEvents(context: DurableWriter, id: ActorId, { seq, count, lines }: EventRun): Promise<void> {
  if (count === 0) return;
  const first = (seq - 1) % SEGMENT_EVENTS;
  // The usual case: a whole segment. Long events, and runs across segments, are written event by event.
  if (first === 0 && count <= SEGMENT_EVENTS && lines.length <= MAX_EVENT_CHARACTERS) {
    context.set(segmentKey((seq - 1) / SEGMENT_EVENTS), lines);
    return;
  }
  const events = eventsIn(id, lines, seq);
  for (let at = 0; at < events.length;) {
    const place = seq - 1 + at;
    const index = Math.floor(place / SEGMENT_EVENTS);
    const within = place % SEGMENT_EVENTS;
    const some = events.slice(at, at + SEGMENT_EVENTS - within);
    const before = within === 0 ? [] : (await segmentAt(context, id, index)).slice(0, within);
    if (before.length < within) throw new StoreError("STORE_CORRUPT", "Events are missing before those that come into the archive.");
    const segment = [...before, ...some].map((event, n) => {
      if ((event.body?.length ?? 0) <= MAX_EVENT_CHARACTERS) return event;
      context.set(longEventKey(index, n), exportLine(event));
      return { id: event.id, header: event.header };
    });
    context.set(segmentKey(index), segment.map(exportLine).join("\n"));
    at += some.length;
  }
}

/** In order, and at least the event after `afterSeq`. Empty if that is not here, or not yet. */
export async function archivedEvents(context: DurableReader, id: ActorId, afterSeq: number): Promise<readonly ChainEvent[]> {
  const index = Math.floor(afterSeq / SEGMENT_EVENTS);
  const from = afterSeq % SEGMENT_EVENTS;
  const found: ChainEvent[] = [];
  let characters = 0;
  for (const [n, line] of (await segmentAt(context, id, index)).slice(from).entries()) {
    const event = line.body === undefined ? ((await longEventAt(context, id, { index, within: from + n })) ?? line) : line;
    characters += event.body?.length ?? 0;
    if (n > 0 && characters > ANSWER_CHARACTERS) break;
    found.push(event);
  }
  return found;
}

async function segmentAt(context: DurableReader, id: ActorId, index: number): Promise<readonly ChainEvent[]> {
  const lines = await context.get(segmentKey(index));
  return lines === undefined ? [] : eventsIn(id, lines, index * SEGMENT_EVENTS + 1);
}

/** Undefined if its body was erased. */
async function longEventAt(
  context: DurableReader,
  id: ActorId,
  { index, within }: { readonly index: number; readonly within: number },
): Promise<ChainEvent | undefined> {
  const line = await context.get(longEventKey(index, within));
  return line === undefined ? undefined : eventsIn(id, line, index * SEGMENT_EVENTS + within + 1)[0];
}

// ── expiries of replies ────────────────────────────────────────────────────────

/** A reply's key, and when it expires, in milliseconds since 1970. */
export type Expiry = readonly [key: string, until: number];

/** The first page and the page that is being filled, and when all of the first page has expired: 0 if that is not known. */
interface ExpiryIndex {
  readonly first: number;
  readonly last: number;
  readonly until: number;
}

/** Keys on one page. */
const EXPIRY_PAGE = 64;
/** Each put adds a reply and removes up to two pages, so pages are removed faster than they are added. */
const SWEEP_PAGES = 2;
/** Pages in one answer. */
const ANSWER_PAGES = 16;
const EXPIRY_INDEX = "over";

const expiryPageKey = (page: number): string => `over/${page}`;

async function addExpiries(context: DurableWriter, added: readonly Expiry[]): Promise<void> {
  const stored = tryParseJson(await context.get(EXPIRY_INDEX));
  const before = expiryIndexIn(stored);
  // The first version stored one list.
  let rest: readonly Expiry[] = [...(before === undefined ? expiriesIn(stored) : await expiryPageAt(context, before.last)), ...added];
  const { first, until } = before ?? { first: 0, until: 0 };
  let last = before?.last ?? 0;
  for (; rest.length > EXPIRY_PAGE; last += 1) {
    context.set(expiryPageKey(last), JSON.stringify(rest.slice(0, EXPIRY_PAGE)));
    rest = rest.slice(EXPIRY_PAGE);
  }
  context.set(expiryPageKey(last), JSON.stringify(rest));
  context.set(EXPIRY_INDEX, JSON.stringify({ first, last, until } satisfies ExpiryIndex));
}

/** Removes pages on which all replies have expired, except the last one. Calls `onExpired` for each key on them. */
async function sweepExpiries(context: DurableWriter, now: number, onExpired: (key: string) => Promise<void>): Promise<void> {
  const index = expiryIndexIn(tryParseJson(await context.get(EXPIRY_INDEX)));
  if (index === undefined || index.until > now) return;
  let { first, until } = index;
  for (let pages = 0; first < index.last; pages += 1) {
    const page = await expiryPageAt(context, first);
    until = Math.max(...page.map(([, one]) => one), 0);
    if (until > now || pages === SWEEP_PAGES) break;
    for (const [key] of page) await onExpired(key);
    context.clear(expiryPageKey(first));
    first += 1;
    until = 0;
  }
  if (first !== index.first || until !== index.until)
    context.set(EXPIRY_INDEX, JSON.stringify({ first, last: index.last, until } satisfies ExpiryIndex));
}

/** Some of the keys, starting at a page, and the page that follows. */
export async function expiriesFrom(
  context: DurableReader,
  from: number,
): Promise<{ readonly keys: readonly Expiry[]; readonly next?: number }> {
  const stored = tryParseJson(await context.get(EXPIRY_INDEX));
  const index = expiryIndexIn(stored);
  if (index === undefined) return { keys: expiriesIn(stored) };
  const keys: Expiry[] = [];
  let page = Math.max(from, index.first);
  for (const end = page + ANSWER_PAGES; page < end && page <= index.last; page += 1) keys.push(...(await expiryPageAt(context, page)));
  return page <= index.last ? { keys, next: page } : { keys };
}

const expiryPageAt = async (context: DurableReader, page: number): Promise<readonly Expiry[]> =>
  expiriesIn(tryParseJson(await context.get(expiryPageKey(page))));

const expiriesIn = (value: unknown): readonly Expiry[] => (Array.isArray(value) ? value.filter(isExpiry) : []);

export const isExpiry = (value: unknown): value is Expiry =>
  Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "number";

function expiryIndexIn(value: unknown): ExpiryIndex | undefined {
  if (!isObject(value)) return undefined;
  const { first, last, until } = value;
  return typeof first === "number" && typeof last === "number" && typeof until === "number" ? { first, last, until } : undefined;
}
