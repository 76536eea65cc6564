import { apply, readBody, readHeader } from "../../../core/chain/index.ts";
import { type ActorId, type ChainEvent, type Engine, isJsonObject, type Json, isList } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { GUEST } from "../../wasm/index.ts";
import { type EventQuery, type StageEvent, StageError } from "../stage.ts";

/** A whole state is written again after this many patches at the latest, or nearly. */
const LOOK_BACK = 128;

/** Events of one actor, oldest first. */
export async function pageOf(engine: Engine, id: ActorId, actor: string, head: number, query: EventQuery): Promise<readonly StageEvent[]> {
  const from = await startOf(engine, id, head, query);
  const last = query.before === undefined || query.after !== undefined ? head : (await seqOf(engine, id, query.before)) - 1;
  const wanted = Math.min(query.limit, last - from);
  if (wanted <= 0) return [];
  const events: ChainEvent[] = [];
  // One more: the next in the chain is a child of the last.
  for await (const event of engine.history(id, from)) {
    events.push(event);
    if (events.length > wanted) break;
  }
  const changed = await changedIn(engine, id, from, events);
  const page = events.slice(0, wanted).map((event, index) => stageEvent(engine, actor, event, events[index + 1], changed.has(event.id)));
  return Promise.all(page);
}

/** The seq before the page's first. */
async function startOf(engine: Engine, id: ActorId, head: number, { after, before, limit }: EventQuery): Promise<number> {
  if (after !== undefined) return seqOf(engine, id, after);
  const end = before === undefined ? head : (await seqOf(engine, id, before)) - 1;
  return Math.max(0, end - limit);
}

async function seqOf(engine: Engine, id: ActorId, eventId: string): Promise<number> {
  const event = await engine.event(eventId);
  const header = event === undefined ? undefined : readHeader(event);
  if (header?.actor !== id)
    throw new StageError("InvalidRequest", `The actor has no event ${JSON.stringify(eventId.slice(0, 100))}: take an id from its events.`);
  return header.seq;
}

export async function single(engine: Engine, event: ChainEvent, actor: string): Promise<StageEvent> {
  const { actor: id, seq } = readHeader(event);
  const events: ChainEvent[] = [event];
  for await (const next of engine.history(id, seq)) {
    events.push(next);
    break;
  }
  const changed = await changedIn(engine, id, seq - 1, events);
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
  return { id: event.id, actor, at, type: changed ? "StateChanged" : type, parent, data: dataOf(event), children };
}

/** Its body; where that was erased, its header says so. */
function dataOf(event: ChainEvent): Json {
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

/** Those that left another state than they found. A whole state says that only beside the one before it. */
async function changedIn(engine: Engine, id: ActorId, from: number, events: readonly ChainEvent[]): Promise<ReadonlySet<string>> {
  const changed = new Set<string>();
  const isGuest = id.startsWith(`${GUEST}/`);
  const own = isGuest ? ownState : same;
  let state: Json | undefined;
  const step = (event: ChainEvent): void => {
    const body = readBody(event);
    if (body === undefined) state = undefined;
    else if (body.state !== undefined) {
      const before = state === undefined ? noState(isGuest, event) : JSON.stringify(own(state));
      if (before !== JSON.stringify(own(body.state))) changed.add(event.id);
      ({ state } = body);
    } else if (body.patch !== undefined) {
      if (!isGuest || patchesOwn(body.patch)) changed.add(event.id);
      if (state !== undefined) state = apply(state, body.patch);
    }
  };
  if (from > 0 && events.some(isWhole)) {
    for await (const event of engine.history(id, Math.max(0, from - LOOK_BACK))) {
      if (readHeader(event).seq > from) break;
      step(event);
    }
    changed.clear();
  }
  for (const event of events) step(event);
  return changed;
}

const same = (state: Json): Json => state;

/** What a guest's actor keeps beside it, its channels and children, is no state of the guest's. */
const ownState = (state: Json): Json => (isJsonObject(state) ? (state["state"] ?? null) : state);

/** What it is before its first event. */
const noState = (isGuest: boolean, event: ChainEvent): string | undefined =>
  isGuest && readHeader(event).parent === null ? "null" : undefined;

function patchesOwn(patch: Json): boolean {
  if (!isJsonObject(patch)) return true;
  const change = patch["state"];
  // A key that moved and has no change of its own.
  return change !== undefined && !(isList(change) && change.length === 2 && change[1] === null);
}

const isWhole = (event: ChainEvent): boolean => readBody(event)?.state !== undefined;
