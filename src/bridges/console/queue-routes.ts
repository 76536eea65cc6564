// Owns: the routes about messages and timers that wait: dead letters, the outbox, timers. Does not own: delivering them.

import type { ActorId, CancelSignal, ChainEvent, DeadLetter, Due, SetWake, Store } from "../../core/contract/index.ts";
import { compareIds, isActorId, omitUndefined } from "../../core/contract/internal.ts";
import { type ActorReader, yieldToEventLoop } from "../operate/index.ts";
import type { ConsoleData } from "./data.ts";
import { requestBehind } from "./causing-request.ts";
import { eventRow, inList } from "./event-rows.ts";
import { badRequest, notAvailable, numberIn, pageLimit, redactedArgs, textIn, unlessDamaged } from "./requests.ts";
import { type ConsoleRequest, type ConsoleRoute, LONG_TEXT } from "./routes.ts";
import type { Done, EventRow, LetterPage, LetterRow, OutboxRow, PageOf, TimerRow } from "./shapes.ts";

const MOST = 200;
const PAGE = 50;
const LIMIT = pageLimit(MOST, PAGE);
/** A page is found by reading all before it. */
const MOST_LETTERS = 10_000;
/** So many letters are read between two turns of the event loop, and fewer if they are large. */
const LETTERS_AT_ONCE = 500;
/** Of the arguments on a page of letters. */
const MAX_CHARACTERS = 4 * 1_048_576;
/** Events that are read to find the roots of one page. */
const MOST_READ = 500;
const FAR = Number.MAX_SAFE_INTEGER;

export const queueRoutes: readonly ConsoleRoute[] = [
  {
    verb: "GET",
    path: "/letters",
    summary:
      "Dead letters: messages that failed three times, each with the request that it began with. A page ends early where they are large.",
    query: {
      after: {
        description: "How many to leave out: `next` of the page before.",
        schema: { type: "integer", minimum: 0, maximum: MOST_LETTERS },
      },
      limit: LIMIT,
    },
    answers: "LetterPage",
    handle: letters,
  },
  {
    verb: "POST",
    path: "/letters/:id",
    summary: "Delivers a dead letter again, or drops it.",
    body: {
      type: "object",
      properties: { fate: { type: "string", enum: ["replay", "drop"] } },
      required: ["fate"],
      additionalProperties: false,
    },
    answers: "Done",
    handle: settle,
  },
  {
    verb: "GET",
    path: "/timers",
    summary: "Timers and expiries, soonest first.",
    query: {
      kind: { description: "Only of actors of this kind." },
      after: { description: "`next` of the page before.", schema: LONG_TEXT },
      limit: LIMIT,
    },
    answers: "PageOf<TimerRow>",
    handle: timers,
  },
  {
    verb: "GET",
    path: "/outbox",
    summary: "Messages between actors that are still to be delivered, oldest first.",
    query: { limit: LIMIT },
    answers: "PageOf<OutboxRow>",
    handle: outbox,
  },
];

async function letters(request: ConsoleRequest, data: ConsoleData): Promise<LetterPage> {
  const { reader } = data;
  if (reader.letters === undefined) throw notAvailable("This engine does not list its dead letters.");
  const after = numberIn(request, "after") ?? 0;
  const limit = numberIn(request, "limit") ?? PAGE;
  const roots = new Roots(data);
  const items: LetterRow[] = [];
  let damaged = 0;
  let place = 0;
  let characters = 0;
  let isMore = false;
  const { disconnected } = request;
  for await (const letter of eachLetter(reader, { most: after + limit + 1, disconnected, onDamaged: (count) => (damaged = count) })) {
    place += 1;
    if (place <= after) continue;
    isMore = items.length === limit || characters >= MAX_CHARACTERS;
    if (isMore) break;
    const row = await letterRow(letter, roots, data);
    characters += JSON.stringify(row.args).length;
    items.push(row);
  }
  return { items, ...(isMore && { next: String(after + items.length) }), ...(damaged > 0 && { damaged }) };
}

interface EachLetter {
  readonly most: number;
  /** Of the client that they are read for: it may leave before the end. */
  readonly disconnected?: CancelSignal;
  /** How many could not be read so far. */
  readonly onDamaged?: (count: number) => void;
}

/** Dead letters, oldest first. There may be ten thousand with megabytes each, so they are read in pages. */
export async function* eachLetter(reader: ActorReader, { most, disconnected, onDamaged }: EachLetter): AsyncGenerator<DeadLetter> {
  if (reader.letters === undefined) return;
  const seen = new Set<string>();
  while (seen.size < most) {
    if (disconnected?.aborted === true) return;
    let damaged = 0;
    const page = await reader.letters(Math.min(LETTERS_AT_ONCE, most - seen.size), () => (damaged += 1), seen);
    onDamaged?.(damaged);
    const fresh = page.filter(({ message }) => !seen.has(message.id));
    // Stop at a page with nothing new: a store that ignores `seen` would return the same page forever.
    if (fresh.length === 0) return;
    for (const letter of fresh) seen.add(letter.message.id);
    yield* fresh;
    await yieldToEventLoop();
  }
}

async function letterRow({ message, why, at }: DeadLetter, roots: Roots, data: ConsoleData): Promise<LetterRow> {
  const { id, to, action, from, cause, viewer, replays = 0 } = message;
  const root = cause === undefined ? undefined : await roots.of(cause);
  return {
    id,
    to,
    action,
    args: redactedArgs(data, message),
    ...omitUndefined({ from, principal: viewer?.principal, cause, root }),
    why,
    at,
    replays,
  };
}

/** From an event back to the one that a request caused. Letters of one page often share theirs. */
class Roots {
  readonly #data: ConsoleData;
  readonly #rows = new Map<string, EventRow | undefined>();
  #left = MOST_READ;

  constructor(data: ConsoleData) {
    this.#data = data;
  }

  /** Undefined: it is too far back, or is not stored any more. */
  async of(id: string): Promise<EventRow | undefined> {
    for (let next = id; ;) {
      const row = await this.#row(next);
      if (row?.cause === undefined) return row;
      next = row.cause;
    }
  }

  async #row(id: string): Promise<EventRow | undefined> {
    if (this.#rows.has(id)) return this.#rows.get(id);
    if (this.#left <= 0) return undefined;
    this.#left -= 1;
    await yieldToEventLoop();
    const event = await this.#data.reader.event(id);
    const row = event === undefined ? undefined : await this.#described(event);
    this.#rows.set(id, row);
    return row;
  }

  async #described(event: ChainEvent): Promise<EventRow> {
    const row = eventRow(event, []);
    // Only of the first cause: it is what a letter shows.
    const request = row.cause === undefined ? await requestBehind(event, this.#data) : undefined;
    return request === undefined ? row : { ...row, request };
  }
}

async function settle({ params, body }: ConsoleRequest, { operate }: ConsoleData): Promise<Done> {
  if (operate === undefined) throw notAvailable("Nothing runs here: dead letters are only read.");
  const { fate } = body;
  if (fate !== "replay" && fate !== "drop") throw badRequest('fate must be "replay" or "drop".');
  await operate("letter", { id: params["id"] ?? "", fate });
  return { ok: true };
}

async function timers(request: ConsoleRequest, data: ConsoleData): Promise<PageOf<TimerRow>> {
  const { reader } = data;
  if (reader.due === undefined) throw notAvailable("This engine does not list its timers.");
  const limit = numberIn(request, "limit") ?? PAGE;
  const kind = textIn(request, "kind");
  const after = placeIn(textIn(request, "after"));
  const found = await timersBehind(after, limit, kind, reader.due, data);
  const items: TimerRow[] = [];
  for (const { id, wake: name, at } of found.slice(0, limit)) {
    const stored = reader.load && (await unlessDamaged(reader.load(id)));
    const wake = stored?.row.wakes[name];
    // To find an older event by its id may read the whole store, and this page is loaded every few seconds.
    const event = stored?.tail.find((one) => one.id === wake?.cause);
    const setBy = event && eventRow(event, []);
    items.push(wake === undefined ? { actor: id, name, at } : { ...timerRow(id, name, wake, data), ...omitUndefined({ setBy }) });
    await yieldToEventLoop();
  }
  const last = found[limit - 1];
  return { items, ...(found.length > limit && last !== undefined && { next: `${last.at} ${last.id} ${last.wake}` }) };
}

/** A timer as the API shows it. */
export function timerRow(actor: ActorId, name: string, wake: SetWake, data: ConsoleData): TimerRow {
  const { at, action, everyMs, cron, timeZone, cause } = wake;
  const args = wake.args === undefined ? undefined : redactedArgs(data, { id: "", to: actor, action, args: wake.args, at, seed: "" });
  return { actor, name, at, action, ...omitUndefined({ args: inList(args).value, everyMs, cron, timeZone, cause }) };
}

/** The position of a timer among all: an actor may have several, with those of others between them. */
type TimerPlace = Pick<Due, "at" | "id" | "wake">;

const comparePlaces = (one: TimerPlace, other: TimerPlace): number =>
  one.at - other.at || compareIds(one.id, other.id) || (one.wake < other.wake ? -1 : Number(one.wake > other.wake));

/** More than `limit`, if there are more. All before them are read, too: a store finds actors by their first timers only. */
async function timersBehind(
  after: TimerPlace | undefined,
  limit: number,
  kind: string | undefined,
  due: Store["due"],
  { running }: ConsoleData,
): Promise<readonly Due[]> {
  // A store that is only read may find an expiry too early, which hides what is sooner.
  for (let most = running === undefined ? FAR : limit + 2; ; most *= 2) {
    const found = await due(FAR, most, () => undefined, kind === undefined ? undefined : [kind]);
    const isAll = found.length < most;
    const end = found.at(-1)?.at ?? FAR;
    // Of those at the same time as the last, some may be missing.
    const behind = found.filter((one) => (isAll || one.at < end) && (after === undefined || comparePlaces(one, after) > 0));
    if (isAll || behind.length > limit) return behind.toSorted(comparePlaces);
    await yieldToEventLoop();
  }
}

/** Throws `BAD_REQUEST`. */
function placeIn(text: string | undefined): TimerPlace | undefined {
  if (text === undefined) return undefined;
  const [at = "", id = "", ...wake] = text.split(" ");
  if (at !== "" && Number.isFinite(Number(at)) && isActorId(id)) return { at: Number(at), id, wake: wake.join(" ") };
  throw badRequest("after must be `next` of the page before.");
}

async function outbox(request: ConsoleRequest, { reader }: ConsoleData): Promise<PageOf<OutboxRow>> {
  if (reader.undelivered === undefined) throw notAvailable("This engine does not list what it has yet to deliver.");
  const limit = numberIn(request, "limit") ?? PAGE;
  const found = await reader.undelivered(limit, () => undefined);
  return {
    items: found.map(({ message: { id, to, action, from, at }, failures }) => ({
      id,
      to,
      action,
      ...omitUndefined({ from }),
      at,
      failures,
    })),
  };
}
