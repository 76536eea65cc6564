// Owns: reading the histories of actors for the search index: one actor's new events, and a scan for changed actors.
//   Does not own: when they are read (follower.ts).
import {
  type ActorId,
  type ChainEvent,
  type Engine,
  type Json,
  type JsonObject,
  TroupeError,
  isJsonObject,
} from "../../../core/contract/index.ts";
import { omitUndefined } from "../../../core/contract/internal.ts";
import { type Cursor, type IndexedText, type Owner, type IndexWriter, type IndexUpdate, isAhead, splitActorId } from "./index-rows.ts";
import type { SearchableFields, SearchKind } from "./searchable-fields.ts";

/** Events of one actor per read, before others have their turn. */
const PAGE = 256;

export interface IndexedKind {
  readonly spec: SearchKind;
  readonly fields: SearchableFields;
}

interface ReadRequest {
  readonly id: ActorId;
  readonly of: IndexedKind;
  /** How far the history has been read; undefined: not at all. */
  readonly cursor: Cursor | undefined;
  /** Whether to remove everything indexed of the actor first. */
  readonly rebuild: boolean;
  /** A change reported that the actor stopped. */
  readonly stopped: boolean;
  /** Events captured when their change was reported: of an actor in memory only the last one can be read. */
  readonly captured: readonly ChainEvent[];
}

export interface ReadResult {
  readonly update: IndexUpdate;
  readonly more: boolean;
}

/** Reads what is new in an actor's history. Throws the engine's errors and `STORE_CORRUPT`. */
export async function readActorHistory(engine: Engine, request: ReadRequest): Promise<ReadResult> {
  const { id, of, stopped } = request;
  if (stopped && (await isRemoved(engine, id))) return { update: { id, rebuild: true, docs: [] }, more: false };
  const { events, cursor, rebuild, replaceFrom, more } = await newEvents(engine, request);
  const docs: IndexedText[] = [];
  let currentCursor = cursor;
  for (const event of events) {
    const { seq, at, message, reply } = event;
    const owner = event.life === currentCursor?.life ? currentCursor.owner : await ownerOf(engine, id, of.spec, event, currentCursor);
    currentCursor = { life: event.life, owner, seq, head: event.id };
    if (owner === undefined || message === undefined) continue;
    const text = of.fields.textOf(message["args"], reply);
    if (text !== "") docs.push({ seq, at, event: event.id, text, owner });
  }
  return { update: { id, rebuild, docs, ...omitUndefined({ cursor: currentCursor, replaceFrom }) }, more };
}

/** An actor in memory leaves nothing when it stops. */
async function isRemoved(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now === undefined || (now.persistence === "memory" && now.status === "stopped");
}

const follows = ({ seq }: ParsedEvent, currentCursor: Cursor | undefined): boolean => seq === (currentCursor?.seq ?? 0) + 1;

interface Page {
  readonly events: readonly ParsedEvent[];
  readonly cursor: Cursor | undefined;
  readonly rebuild: boolean;
  /** Remove the texts from this event on first. */
  readonly replaceFrom?: number;
  readonly more: boolean;
}

async function newEvents(engine: Engine, request: ReadRequest): Promise<Page> {
  const { id, cursor } = request;
  const captured = latestChain(request.captured.map(parseEvent));
  if (cursor === undefined || request.rebuild) return withCaptured(engine, request, captured, undefined);
  const page = await read(engine, id, cursor.seq);
  const [next] = page;
  const continues = next === undefined ? isAtHead(cursor, await engine.read(id)) : follows(next, cursor) && continuesChain(cursor, next);
  if (continues) return { events: page, cursor, rebuild: false, more: page.length === PAGE };
  return withCaptured(engine, request, captured, replacedFrom(cursor, captured));
}

/** For a history that does not simply continue. `from`: the first event that was replaced. */
async function withCaptured(
  engine: Engine,
  request: ReadRequest,
  captured: readonly ParsedEvent[],
  from: number | undefined,
): Promise<Page> {
  // While an actor on disk has a life in memory, its events on disk cannot be read. All of it is read again once they can be.
  const rebuild = request.rebuild || from === 1 || (from !== undefined && !(await livesInMemory(engine, request.id)));
  const cursor =
    rebuild || request.cursor === undefined
      ? undefined
      : from === undefined
        ? request.cursor
        : { ...request.cursor, life: "", seq: from - 1 };
  const page = await read(engine, request.id, cursor?.seq ?? 0);
  const [next] = page;
  if (cursor !== undefined && from === undefined && (await isOfAnotherChain(engine, request.id, cursor, next)))
    return { events: await read(engine, request.id, 0), cursor: undefined, rebuild: true, more: true };
  const found = { cursor, rebuild, more: page.length === PAGE, ...(from !== undefined && !rebuild && { replaceFrom: from }) };
  if (next !== undefined && follows(next, cursor)) return { events: page, ...found };
  const since = captured.filter(({ seq }) => seq > (cursor?.seq ?? 0) && (next === undefined || seq < next.seq));
  return { events: [...(next === undefined ? await stillPresent(engine, request.id, since) : since), ...page], ...found };
}

const isAtHead = ({ seq, head }: Cursor, now: Pick<Cursor, "seq" | "head"> | undefined): boolean => now?.seq === seq && now.head === head;

const continuesChain = ({ head }: Cursor, { parent }: ParsedEvent): boolean => parent === null || parent === head;

/** A new life in memory counts events from 1 again, or continues the count on disk. Its events replace those with the same or a higher number. */
function latestChain(captured: readonly ParsedEvent[]): readonly ParsedEvent[] {
  const chain: ParsedEvent[] = [];
  for (const event of captured) {
    while ((chain.at(-1)?.seq ?? 0) >= event.seq) chain.pop();
    chain.push(event);
  }
  return chain;
}

const replacedFrom = (cursor: Cursor | undefined, captured: readonly ParsedEvent[]): number | undefined =>
  cursor === undefined ? undefined : captured.find(({ life, seq }) => life !== cursor.life && seq <= cursor.seq)?.seq;

async function livesInMemory(engine: Engine, id: ActorId): Promise<boolean> {
  const now = await engine.read(id);
  return now?.persistence === "memory" && now.status !== "stopped";
}

/** Drops captured events of a life in memory that has ended, for an actor on disk. */
async function stillPresent(engine: Engine, id: ActorId, events: readonly ParsedEvent[]): Promise<readonly ParsedEvent[]> {
  const now = events.length === 0 ? undefined : await engine.read(id);
  return now === undefined ? events : events.filter(({ seq }) => seq <= now.seq);
}

/** The store was restored from a copy, or a life in memory of an actor on disk has ended and its events are gone. */
async function isOfAnotherChain(engine: Engine, id: ActorId, cursor: Cursor, next: ParsedEvent | undefined): Promise<boolean> {
  if (next !== undefined) return follows(next, cursor) && !continuesChain(cursor, next);
  return isAhead(cursor, await engine.read(id));
}

async function read(engine: Engine, id: ActorId, afterSeq: number): Promise<readonly ParsedEvent[]> {
  const page: ParsedEvent[] = [];
  for await (const event of engine.history(id, afterSeq)) {
    page.push(parseEvent(event));
    if (page.length === PAGE) break;
  }
  return page;
}

/** The owner of the life that this event belongs to. */
async function ownerOf(
  engine: Engine,
  id: ActorId,
  spec: SearchKind,
  event: ParsedEvent,
  currentCursor: Cursor | undefined,
): Promise<Owner | undefined> {
  const atStart = follows(event, currentCursor) ? ownerAtStart(spec, event) : undefined;
  if (atStart !== undefined) return atStart;
  const now = await engine.read(id);
  if (now === undefined || now.seq < event.seq) return undefined;
  // Only if it is still the same life: another one may have another owner.
  for await (const last of engine.history(id, now.seq - 1)) {
    if (parseEvent(last).life !== event.life) return undefined;
    if (now.owner !== undefined) return { principal: now.owner };
    return spec.policy.owner === "anyone" ? "everybody" : "nobody";
  }
  return undefined;
}

/** The relevant parts of an event. */
interface ParsedEvent {
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
function parseEvent({ id, header, body }: ChainEvent): ParsedEvent {
  const { life, seq, parent, at } = parsed(header, id);
  if (typeof life !== "string" || typeof seq !== "number" || typeof at !== "number" || !(parent === null || typeof parent === "string"))
    throw corruptEvent(id);
  const known = { id, life, seq, parent, at };
  if (body === undefined) return known;
  const { message, reply } = parsed(body, id);
  if (!isJsonObject(message)) throw corruptEvent(id);
  return { ...known, message, ...(reply === undefined ? {} : { reply }) };
}

function parsed(text: string, id: string): JsonObject {
  try {
    const value: Json = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw corruptEvent(id, error);
  }
  throw corruptEvent(id);
}

const corruptEvent = (id: string, cause?: unknown): TroupeError =>
  new TroupeError("STORE_CORRUPT", `Event ${id} cannot be read: verify the chain, and restore the store from a copy.`, { cause });

/** The owner by the first event of a life, as the engine decided it then. Undefined: the event does not show it. */
function ownerAtStart({ policy }: SearchKind, { message }: ParsedEvent): Owner | undefined {
  if (message === undefined) return undefined;
  const override = message["start"] === undefined ? undefined : message["policy"];
  const owner = (isJsonObject(override) ? override["owner"] : undefined) ?? policy.owner;
  const viewer = message["viewer"];
  const principal = isJsonObject(viewer) ? viewer["principal"] : undefined;
  return owner === "anyone" ? "everybody" : typeof principal === "string" ? { principal } : "nobody";
}

/** Limits captured events of all actors together; further events are not captured. */
export class CaptureQuota {
  remaining = 1_000;
}

/** Captures events when their change is reported: of an actor in memory only the last one can be read. */
export class CapturedEvents {
  readonly #engine: Engine;
  readonly #id: ActorId;
  readonly #quota: CaptureQuota;
  #events: Promise<ChainEvent | undefined>[] = [];

  constructor(engine: Engine, id: ActorId, quota: CaptureQuota) {
    this.#engine = engine;
    this.#id = id;
    this.#quota = quota;
  }

  capture(seq: number): void {
    if (this.#quota.remaining <= 0) return;
    this.#quota.remaining -= 1;
    this.#events.push(first(this.#engine.history(this.#id, seq - 1)));
  }

  /** The events that could be read. */
  async events(): Promise<readonly ChainEvent[]> {
    const events = await Promise.all(this.#events);
    return events.filter((event) => event !== undefined);
  }

  /** Frees their quota. */
  release(): void {
    this.#quota.remaining += this.#events.length;
    this.#events = [];
  }

  /** Moves earlier captures in front of these. */
  prepend(before: CapturedEvents): void {
    this.#events.unshift(...before.#events);
    before.#events = [];
  }
}

async function first(events: AsyncIterable<ChainEvent>): Promise<ChainEvent | undefined> {
  try {
    for await (const event of events) return event;
  } catch {
    // It is read again with the actor's history.
  }
  return undefined;
}

const ACTORS_PER_PAGE = 500;
/** Sorts after every key, since keys are ASCII. */
const END = "\u{7f}";

/** Scans all actors for changes and removals that happened while nothing was watching. */
export class ActorScan {
  readonly #engine: Engine;
  readonly #kinds: readonly string[];
  #kind = 0;
  #after: ActorId | undefined;
  #again = false;

  constructor(engine: Engine, kinds: readonly string[]) {
    this.#engine = engine;
    this.#kinds = kinds;
  }

  get isFinished(): boolean {
    return this.#kind >= this.#kinds.length;
  }

  /** Scans from the first actor, after the scan in progress if there is one. */
  restart(): void {
    if (!this.isFinished) this.#again = true;
    else this.#kind = 0;
  }

  /** Scans from the first actor, at once. */
  reset(): void {
    this.#kind = 0;
    this.#after = undefined;
    this.#again = false;
  }

  /** The next page: actors with new events, and actors to be reindexed completely. */
  async page(writer: IndexWriter): Promise<readonly { readonly id: ActorId; readonly rebuild: boolean }[]> {
    const kind = this.#kinds[this.#kind];
    if (kind === undefined) return [];
    const after = this.#after;
    const page = await this.#engine.list({ kind, limit: ACTORS_PER_PAGE, ...omitUndefined({ after }) });
    const last = page.length < ACTORS_PER_PAGE ? undefined : page.at(-1)?.id;
    const found = [];
    for (const change of page) {
      const cursor = writer.cursor(change.id);
      if (cursor === undefined || cursor.seq < change.seq) found.push({ id: change.id, rebuild: false });
      else if (isAhead(cursor, change) && (await this.#isBehind(change.id, writer))) found.push({ id: change.id, rebuild: true });
    }
    const listed = new Set(page.map(({ id }) => id));
    const from = after === undefined ? "" : splitActorId(after)[1];
    const to = last === undefined ? END : splitActorId(last)[1];
    for (let at = from; ;) {
      const keys = writer.knownKeys(kind, at, to, ACTORS_PER_PAGE);
      for (const key of keys) {
        const id: ActorId = `${kind}/${key}`;
        // It may have started after the list was read.
        if (!listed.has(id) && (await this.#engine.read(id)) === undefined) found.push({ id, rebuild: true });
      }
      at = keys.at(-1) ?? to;
      if (keys.length < ACTORS_PER_PAGE) break;
    }
    this.#after = last;
    if (last === undefined) this.#kind += 1;
    if (this.isFinished && this.#again) this.reset();
    return found;
  }

  /** The store was restored from a copy: the cursor is ahead of it or on another chain. Read again, since the list may be older than the cursor. */
  async #isBehind(id: ActorId, writer: IndexWriter): Promise<boolean> {
    const cursor = writer.cursor(id);
    return cursor !== undefined && isAhead(cursor, await this.#engine.read(id));
  }
}
