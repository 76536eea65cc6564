import type { ActorId, ChainEvent, Engine } from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import type { Fields, SearchKind } from "./fields.ts";
import { isFleeting, ownerAtBirth, readEvent, type Owner, type Reading } from "./read-event.ts";
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
  /** Whether it lives in memory, where what was read says so. */
  readonly fleeting: boolean | undefined;
}

/** What has come to an actor's history since. Throws what the engine throws, and `STORE_CORRUPT`. */
export async function lookAt(engine: Engine, look: Look): Promise<Looked> {
  const { id, of, stopped } = look;
  const gone = stopped && (await hasGone(engine, id));
  if (gone) return { step: { id, anew: true, docs: [] }, more: false, fleeting: false };
  const { events, cursor, anew, more } = await newEvents(engine, look);
  const docs: Doc[] = [];
  let place = cursor;
  let fleeting: boolean | undefined;
  for (const event of events) {
    const { seq, at, message, reply } = event;
    if (event.life !== place?.life && follows(event, place)) fleeting = isFleeting(of.spec, event);
    const owner = event.life === place?.life ? place.owner : await ownerOf(engine, id, of.spec, event, place);
    place = { life: event.life, owner, seq, head: event.id };
    if (owner === undefined || message === undefined) continue;
    const text = of.fields.textOf(message["args"], reply);
    if (text !== "") docs.push({ seq, at, event: event.id, text, owner });
  }
  return { step: { id, anew, docs, ...omitUndefined({ cursor: place }) }, more, fleeting };
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
  readonly more: boolean;
}

async function newEvents(engine: Engine, look: Look): Promise<Page> {
  const told = look.early.map(readEvent);
  // An actor in memory that began again counts from 1 again.
  const early = told.slice(
    Math.max(
      0,
      told.findLastIndex(({ seq }) => seq === 1),
    ),
  );
  const [first] = early;
  const reborn = look.cursor !== undefined && first?.seq === 1 && first.life !== look.cursor.life;
  const anew = look.anew || reborn;
  const cursor = anew ? undefined : look.cursor;
  const page = await read(engine, look.id, cursor?.seq ?? 0);
  const [next] = page;
  if (cursor !== undefined && (await isOfAnotherChain(engine, look.id, cursor, next)))
    return { events: await read(engine, look.id, 0), cursor: undefined, anew: true, more: true };
  const more = page.length === PAGE;
  if (next !== undefined && follows(next, cursor)) return { events: page, cursor, anew, more };
  const since = early.filter(({ seq }) => seq > (cursor?.seq ?? 0) && (next === undefined || seq < next.seq));
  return { events: [...since, ...page], cursor, anew, more };
}

/** The store was restored from a copy, or the actor on disk had a life in memory, which has taken its events with it. */
async function isOfAnotherChain(engine: Engine, id: ActorId, cursor: Cursor, next: Reading | undefined): Promise<boolean> {
  if (next !== undefined) return next.parent !== null && follows(next, cursor) && next.parent !== cursor.head;
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
