import type { ActorId, ChainEvent, Engine } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { Fields, SearchKind } from "./fields.ts";
import { ownerAtBirth, readEvent, type Owner, type Reading } from "./read-event.ts";
import { type Cursor, type Doc, isAhead, type Step } from "./rows.ts";

/** Events read of one actor before others have their turn. */
const PAGE = 256;

export interface Searched {
  readonly spec: SearchKind;
  readonly fields: Fields;
}

export interface Look {
  readonly id: ActorId;
  readonly of: Searched;
  /** How far its history has been read; undefined: not at all. */
  readonly cursor: Cursor | undefined;
  /** What is known of it goes first, whatever that is. */
  readonly anew: boolean;
  /** It has been told to have ended. */
  readonly stopped: boolean;
  /** Events caught as they were told: an actor in memory keeps its last one only. */
  readonly early: readonly ChainEvent[];
}

export interface Looked {
  readonly step: Step;
  readonly more: boolean;
}

/** What has come to an actor's history since. Throws what the engine throws, and `STORE_CORRUPT`. */
export async function lookAt(engine: Engine, look: Look): Promise<Looked> {
  const { id, of, stopped } = look;
  const gone = stopped && (await hasGone(engine, id));
  if (gone) return { step: { id, anew: true, docs: [] }, more: false };
  const { events, cursor, anew, from, more } = await newEvents(engine, look);
  const docs: Doc[] = [];
  let place = cursor;
  for (const event of events) {
    const { seq, at, message, reply } = event;
    const owner = event.life === place?.life ? place.owner : await ownerOf(engine, id, of.spec, event, place);
    place = { life: event.life, owner, seq, head: event.id };
    if (owner === undefined || message === undefined) continue;
    const text = of.fields.textOf(message["args"], reply);
    if (text !== "") docs.push({ seq, at, event: event.id, text, owner });
  }
  return { step: { id, anew, docs, ...omitUndefined({ cursor: place, from }) }, more };
}

/** An actor in memory takes all it was with it. */
async function hasGone(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now === undefined || (now.persistence === "memory" && now.status === "stopped");
}

const follows = ({ seq }: Reading, place: Cursor | undefined): boolean => seq === (place?.seq ?? 0) + 1;

interface Page {
  readonly events: readonly Reading[];
  readonly cursor: Cursor | undefined;
  readonly anew: boolean;
  /** What was read from this event on goes first. */
  readonly from?: number;
  readonly more: boolean;
}

async function newEvents(engine: Engine, look: Look): Promise<Page> {
  const { id, cursor } = look;
  const early = oneChain(look.early.map(readEvent));
  if (cursor === undefined || look.anew) return withEarly(engine, look, early, undefined);
  const page = await read(engine, id, cursor.seq);
  const [next] = page;
  const goesOn = next === undefined ? isAt(cursor, await engine.read(id)) : follows(next, cursor) && isOn(cursor, next);
  if (goesOn) return { events: page, cursor, anew: false, more: page.length === PAGE };
  return withEarly(engine, look, early, replacedFrom(cursor, early));
}

/** Where what was read does not simply go on. `from`: the first event that was replaced. */
async function withEarly(engine: Engine, look: Look, early: readonly Reading[], from: number | undefined): Promise<Page> {
  // What an actor on disk has there cannot be read while it lives in memory, so all of it is read again once it can be.
  const anew = look.anew || from === 1 || (from !== undefined && !(await livesInMemory(engine, look.id)));
  const cursor =
    anew || look.cursor === undefined ? undefined : from === undefined ? look.cursor : { ...look.cursor, life: "", seq: from - 1 };
  const page = await read(engine, look.id, cursor?.seq ?? 0);
  const [next] = page;
  if (cursor !== undefined && from === undefined && (await isOfAnotherChain(engine, look.id, cursor, next)))
    return { events: await read(engine, look.id, 0), cursor: undefined, anew: true, more: true };
  const found = { cursor, anew, more: page.length === PAGE, ...(from !== undefined && !anew && { from }) };
  if (next !== undefined && follows(next, cursor)) return { events: page, ...found };
  const since = early.filter(({ seq }) => seq > (cursor?.seq ?? 0) && (next === undefined || seq < next.seq));
  return { events: [...(next === undefined ? await stillThere(engine, look.id, since) : since), ...page], ...found };
}

const isAt = ({ seq, head }: Cursor, now: Pick<Cursor, "seq" | "head"> | undefined): boolean => now?.seq === seq && now.head === head;

const isOn = ({ head }: Cursor, { parent }: Reading): boolean => parent === null || parent === head;

/** An actor in memory that began again counts from 1 again, or on from what it has on disk: an event takes the place of those that were at or after it. */
function oneChain(taken: readonly Reading[]): readonly Reading[] {
  const chain: Reading[] = [];
  for (const event of taken) {
    while ((chain.at(-1)?.seq ?? 0) >= event.seq) chain.pop();
    chain.push(event);
  }
  return chain;
}

const replacedFrom = (cursor: Cursor | undefined, early: readonly Reading[]): number | undefined =>
  cursor === undefined ? undefined : early.find(({ life, seq }) => life !== cursor.life && seq <= cursor.seq)?.seq;

async function livesInMemory(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now?.persistence === "memory" && now.status !== "stopped";
}

/** Without those of a life in memory that has ended, of an actor on disk. */
async function stillThere(engine: Engine, id: ActorId, events: readonly Reading[]): Promise<readonly Reading[]> {
  const now = events.length === 0 ? undefined : await engine.read(id);
  return now === undefined ? events : events.filter(({ seq }) => seq <= now.seq);
}

/** The store was restored from a copy, or the actor on disk had a life in memory, which has taken its events with it. */
async function isOfAnotherChain(engine: Engine, id: ActorId, cursor: Cursor, next: Reading | undefined): Promise<boolean> {
  if (next !== undefined) return follows(next, cursor) && !isOn(cursor, next);
  return isAhead(cursor, await engine.read(id));
}

async function read(engine: Engine, id: ActorId, afterSeq: number): Promise<readonly Reading[]> {
  const page: Reading[] = [];
  for await (const event of engine.history(id, afterSeq)) {
    page.push(readEvent(event));
    if (page.length === PAGE) break;
  }
  return page;
}

/** Whose the life is that begins with this event, or within which it was met first. */
async function ownerOf(
  engine: Engine,
  id: ActorId,
  spec: SearchKind,
  event: Reading,
  place: Cursor | undefined,
): Promise<Owner | undefined> {
  const atBirth = follows(event, place) ? ownerAtBirth(spec, event) : undefined;
  if (atBirth !== undefined) return atBirth;
  const now = await engine.read(id);
  if (now === undefined || now.seq < event.seq) return undefined;
  // Only where it still is that life: another one may be somebody else's.
  for await (const last of engine.history(id, now.seq - 1)) {
    if (readEvent(last).life !== event.life) return undefined;
    if (now.owner !== undefined) return { principal: now.owner };
    return spec.policy.owner === "anyone" ? "everybody" : "nobody";
  }
  return undefined;
}
