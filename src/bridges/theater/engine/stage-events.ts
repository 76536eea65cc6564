// Owns: pages of our own events for a stage, with children and state changes. Does not own: Theater's form of the chain
// (theater-chains.ts).
import { readBody, readHeader } from "../../../core/chain/index.ts";
import { type ActorId, type ChainEvent, type Engine, isJsonObject, isList, type Json } from "../../../core/contract/index.ts";
import { charactersIn, omitUndefined } from "../../../core/contract/internal.ts";
import { GUEST } from "../../wasm/index.ts";
import { stateAfter } from "../chain/projector.ts";
import { type EventQuery, StageError, type StageEvent } from "../stage.ts";

/** A chain has a whole state again after at most about this many patches. */
const MAX_PATCHES = 128;

/** Limit for all events of a page together, since a single one may have megabytes. A page has at least one event. */
const PAGE_CHARACTERS = 16 * 1_048_576;

/** Events of one actor, oldest first; fewer than `limit` if they are long. */
export async function eventPage(
  engine: Engine,
  id: ActorId,
  actor: string,
  head: number,
  query: EventQuery,
): Promise<readonly StageEvent[]> {
  const { after, before, limit } = query;
  const end = before === undefined || after !== undefined ? head : (await sequenceOf(engine, id, before)) - 1;
  const from = after === undefined ? Math.max(0, end - limit) : await sequenceOf(engine, id, after);
  const { events, next } = await readRange(engine.history(id, from), Math.min(end, from + limit), after !== undefined);
  const [first] = events;
  const changed = first === undefined ? new Set<string>() : await changedEvents(engine, id, readHeader(first).seq - 1, events);
  const page: StageEvent[] = [];
  // Sequential, since the events that one caused may be long, too.
  for (const [index, event] of events.entries())
    page.push(await stageEvent(engine, actor, event, events[index + 1] ?? next, changed.has(event.id)));
  return page;
}

interface EventRange {
  readonly events: readonly ChainEvent[];
  /** The event after the last one, of which it is a child. */
  readonly next?: ChainEvent;
}

/** Reads up to the sequence number `last`, as many events as may be held: the `first` of them, or the newest. */
async function readRange(history: AsyncIterable<ChainEvent>, last: number, first: boolean): Promise<EventRange> {
  const events: ChainEvent[] = [];
  let characters = 0;
  for await (const event of history) {
    characters += charactersIn([event]);
    const isFull = first && events.length > 0 && characters > PAGE_CHARACTERS;
    if (isFull || readHeader(event).seq > last) return { events, next: event };
    events.push(event);
    while (characters > PAGE_CHARACTERS && events.length > 1) characters -= charactersIn(events.splice(0, 1));
  }
  return { events };
}

async function sequenceOf(engine: Engine, id: ActorId, eventId: string): Promise<number> {
  const event = await engine.event(eventId);
  const header = event === undefined ? undefined : readHeader(event);
  if (header?.actor !== id)
    throw new StageError("InvalidRequest", `The actor has no event ${JSON.stringify(eventId.slice(0, 100))}: take an id from its events.`);
  return header.seq;
}

export async function singleEvent(engine: Engine, event: ChainEvent, actor: string): Promise<StageEvent> {
  const { actor: id, seq } = readHeader(event);
  const events: ChainEvent[] = [event];
  for await (const next of engine.history(id, seq)) {
    events.push(next);
    break;
  }
  const changed = await changedEvents(engine, id, seq - 1, events);
  return stageEvent(engine, actor, event, events[1], changed.has(event.id));
}

async function stageEvent(
  engine: Engine,
  actor: string,
  event: ChainEvent,
  next: ChainEvent | undefined,
  changed: boolean,
): Promise<StageEvent> {
  const { at, type, parent } = readHeader(event);
  const caused = await engine.caused(event.id);
  const children = [...(next === undefined ? [] : [next.id]), ...caused.map(({ id }) => id).filter((id) => id !== next?.id)];
  return { id: event.id, actor, at, type: changed ? "StateChanged" : type, parent, data: eventData(event), children };
}

/** The event's body, or a mark if it was erased. */
function eventData(event: ChainEvent): Json {
  const body = readBody(event);
  if (body === undefined) return { erased: true };
  const { type } = readHeader(event);
  const { message, patch, state, reply, record } = body;
  return {
    action: type,
    message,
    ...omitUndefined({ reply, state, patch, record }),
  };
}

/** Ids of the events that changed the state. A whole state must be compared with the one before it. */
async function changedEvents(engine: Engine, id: ActorId, from: number, events: readonly ChainEvent[]): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const isGuest = id.startsWith(`${GUEST}/`);
  const stateOf = isGuest ? guestState : wholeState;
  let state: Json | undefined;
  const step = (event: ChainEvent): void => {
    const body = readBody(event);
    if (body?.state !== undefined) {
      const before = state === undefined ? initialState(isGuest, event) : JSON.stringify(stateOf(state));
      if (before !== JSON.stringify(stateOf(body.state))) changed.add(event.id);
    } else if (body?.patch !== undefined && (!isGuest || patchesGuestState(body.patch))) changed.add(event.id);
    state = stateAfter(state, body);
  };
  if (from > 0 && events.some(hasWholeState)) {
    for await (const event of engine.history(id, Math.max(0, from - MAX_PATCHES))) {
      if (readHeader(event).seq > from) break;
      step(event);
    }
    changed.clear();
  }
  for (const event of events) step(event);
  return changed;
}

const wholeState = (state: Json): Json => state;

/** A guest's actor also stores channels and children, which are not part of the guest's own state. */
const guestState = (state: Json): Json => (isJsonObject(state) ? (state["state"] ?? null) : state);

/** The state before an actor's first event. */
const initialState = (isGuest: boolean, event: ChainEvent): string | undefined =>
  isGuest && readHeader(event).parent === null ? "null" : undefined;

function patchesGuestState(patch: Json): boolean {
  if (!isJsonObject(patch)) return true;
  const change = patch["state"];
  // The key was moved and has no change of its own.
  return change !== undefined && !(isList(change) && change.length === 2 && change[1] === null);
}

const hasWholeState = (event: ChainEvent): boolean => readBody(event)?.state !== undefined;
