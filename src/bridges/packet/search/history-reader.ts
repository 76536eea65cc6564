import {
  type ActorId,
  type ChainEvent,
  type Change,
  type Engine,
  type Json,
  type JsonObject,
  TroupeError,
  isJsonObject,
} from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type Cursor, type Doc, type Owner, type Rows, type Step, isAhead, split } from "./index-rows.ts";
import type { Fields, SearchKind } from "./searchable-fields.ts";

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

/** What of an event matters here. */
interface Reading {
  readonly id: string;
  readonly life: string;
  readonly seq: number;
  readonly parent: string | null;
  readonly at: number;
  /** Absent: the body was erased. */
  readonly message?: JsonObject;
  readonly reply?: Json;
}

/** Throws `STORE_CORRUPT`. */
function readEvent({ id, header, body }: ChainEvent): Reading {
  const { life, seq, parent, at } = parsed(header, id);
  if (typeof life !== "string" || typeof seq !== "number" || typeof at !== "number" || !(parent === null || typeof parent === "string"))
    throw damaged(id);
  const known = { id, life, seq, parent, at };
  if (body === undefined) return known;
  const { message, reply } = parsed(body, id);
  if (!isJsonObject(message)) throw damaged(id);
  return { ...known, message, ...(reply === undefined ? {} : { reply }) };
}

function parsed(text: string, id: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw damaged(id, error);
  }
  throw damaged(id);
}

const damaged = (id: string, cause?: unknown): TroupeError =>
  new TroupeError("STORE_CORRUPT", `Event ${id} cannot be read: verify the chain, and restore the store from a copy.`, { cause });

/** The first event of a life says whose it is, as the engine decided it then. Undefined: it cannot be told from this one. */
function ownerAtBirth({ policy }: SearchKind, { message }: Reading): Owner | undefined {
  if (message === undefined) return undefined;
  const override = message["start"] === undefined ? undefined : message["policy"];
  const owner = (isJsonObject(override) ? override["owner"] : undefined) ?? policy.owner;
  const viewer = message["viewer"];
  const principal = isJsonObject(viewer) ? viewer["principal"] : undefined;
  return owner === "anyone" ? "everybody" : typeof principal === "string" ? { principal } : "nobody";
}

/** How many events may be held until they are looked at, of all actors together: more are lost. */
export class Room {
  left = 1_000;
}

/** Events taken as they are told. An actor in memory keeps its last one alone: a moment later it is another. */
export class Early {
  readonly #engine: Engine;
  readonly #id: ActorId;
  readonly #room: Room;
  #events: Promise<ChainEvent | undefined>[] = [];

  constructor(engine: Engine, id: ActorId, room: Room) {
    this.#engine = engine;
    this.#id = id;
    this.#room = room;
  }

  take(seq: number): void {
    if (this.#room.left <= 0) return;
    this.#room.left -= 1;
    this.#events.push(first(this.#engine.history(this.#id, seq - 1)));
  }

  /** Those that could be had. */
  async events(): Promise<readonly ChainEvent[]> {
    const events = await Promise.all(this.#events);
    return events.filter((event) => event !== undefined);
  }

  /** They have been looked at. */
  release(): void {
    this.#room.left += this.#events.length;
    this.#events = [];
  }

  /** What was held before these. */
  prepend(before: Early): void {
    this.#events.unshift(...before.#events);
    before.#events = [];
  }
}

async function first(events: AsyncIterable<ChainEvent>): Promise<ChainEvent | undefined> {
  try {
    for await (const event of events) return event;
  } catch {
    // It is asked for again with the actor's history.
  }
  return undefined;
}

const ACTORS_PER_PAGE = 500;
/** Behind every key: these are ASCII. */
const END = "\u{7f}";

/** A walk along all actors: which were changed, and which have gone, while nobody listened. */
export class Sweep {
  readonly #engine: Engine;
  readonly #kinds: readonly string[];
  #kind = 0;
  #after: ActorId | undefined;
  #again = false;

  constructor(engine: Engine, kinds: readonly string[]) {
    this.#engine = engine;
    this.#kinds = kinds;
  }

  get over(): boolean {
    return this.#kind >= this.#kinds.length;
  }

  /** From the first actor on: something was missed. Where it is under way, once it is over. */
  restart(): void {
    if (!this.over) this.#again = true;
    else this.#kind = 0;
  }

  /** From the first actor on, at once. */
  reset(): void {
    this.#kind = 0;
    this.#after = undefined;
    this.#again = false;
  }

  /** The next some: actors whose history goes on, and, told apart, those that have to be read anew. */
  async page(rows: Rows): Promise<readonly { readonly change: Pick<Change, "id" | "seq">; readonly anew: boolean }[]> {
    const kind = this.#kinds[this.#kind];
    if (kind === undefined) return [];
    const after = this.#after;
    const page = await this.#engine.list({ kind, limit: ACTORS_PER_PAGE, ...omitUndefined({ after }) });
    const last = page.length < ACTORS_PER_PAGE ? undefined : page.at(-1)?.id;
    const found = [];
    for (const change of page) {
      const cursor = rows.cursor(change.id);
      if (cursor === undefined || cursor.seq < change.seq) found.push({ change, anew: false });
      else if (isAhead(cursor, change) && (await this.#isBehind(change.id, rows))) found.push({ change, anew: true });
    }
    const there = new Set(page.map(({ id }) => id));
    const from = after === undefined ? "" : split(after)[1];
    const to = last === undefined ? END : split(last)[1];
    for (let at = from; ;) {
      const keys = rows.known(kind, at, to, ACTORS_PER_PAGE);
      for (const key of keys) {
        const id: ActorId = `${kind}/${key}`;
        // One that began after the list was made is there.
        if (!there.has(id) && (await this.#engine.read(id)) === undefined) found.push({ change: { id, seq: 0 }, anew: true });
      }
      at = keys.at(-1) ?? to;
      if (keys.length < ACTORS_PER_PAGE) break;
    }
    this.#after = last;
    if (last === undefined) this.#kind += 1;
    if (this.over && this.#again) this.reset();
    return found;
  }

  /** The store was restored from a copy: what was read is ahead of it, or is another chain. Asked again, since the list may be older than the cursor. */
  async #isBehind(id: ActorId, rows: Rows): Promise<boolean> {
    const cursor = rows.cursor(id);
    return cursor !== undefined && isAhead(cursor, await this.#engine.read(id));
  }
}
