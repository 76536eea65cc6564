// Owns: the `event` table: appending, walking a chain from its end by skip pointers, finding events by id and by cause. Does not own: when
// an event is written (commit-turn.ts).
//
// Each event names the actor's previous one by its place in the log (`prev`), so a chain is a linked list. Skip pointers shorten the walk:
// `back` is the place of the actor's last event whose seq is a multiple of 64, and `far`, on those events only, of the last one whose seq
// is a multiple of 4,096. Any event is found from the end in a few hundred steps, however long the chain.

import { hash } from "node:crypto";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { ActorId, ChainEvent, StoreError } from "../contract/index.ts";
import { damaged } from "./store-errors.ts";
import { int, maybeInt, text } from "./columns.ts";
import type { GroupCommit } from "./group-commit.ts";
import { causeOf, MAX_EFFECTS, wholeNumber } from "./rules.ts";
import { counted } from "../contract/internal.ts";

const BACK = 64;
const FAR = 4_096;

export interface SkipPointers {
  readonly back: number | null;
  readonly far: number | null;
}

export const NO_SKIPS: SkipPointers = { back: null, far: null };

/** The skip pointers of the event after the one at `pos`, whose own pointers are `skips`. */
export const skipsAfter = (seq: number, pos: number, skips: SkipPointers): SkipPointers =>
  seq % BACK === 0 ? { back: pos, far: seq % FAR === 0 ? pos : skips.far } : skips;

/** The end of an actor's chain. */
export interface ChainEnd {
  /** The actor's id in the table of actors. */
  readonly pk: number;
  /** Of the last event: its seq, its id, and its place in the log. */
  readonly seq: number;
  readonly head: string;
  readonly pos: number;
  /** The place of the last event with the whole state. */
  readonly full: number;
}

interface Place {
  readonly pos: number;
  readonly seq: number;
  readonly prev: number | undefined;
  readonly back: number | undefined;
  readonly far: number | undefined;
}

// One statement for the whole walk: a statement for each event takes twice as long. Places only ever decrease towards the chain's beginning,
// so a damaged `prev` ends the walk instead of leading it in a circle for ever.
const walk = (until: string): string => `
  WITH RECURSIVE walk(pos, n) AS (
    VALUES(?1, 1) UNION ALL
    SELECT e.prev, n + 1 FROM walk JOIN event e ON e.pos = walk.pos WHERE e.prev < walk.pos AND ${until})
  SELECT e.id, e.header, e.body, e.actor, e.seq, e.pos FROM walk JOIN event e ON e.pos = walk.pos`;

/** A row of `walk` as an array, which is cheaper than an object. */
type Columns = Readonly<Record<number, SQLOutputValue>>;

const ACTOR = 3;
const SEQ = 4;
const POS = 5;

const statements = (database: DatabaseSync) => ({
  append: database.prepare("INSERT INTO event(pos, actor, seq, prev, back, far, id, header, body) VALUES(?,?,?,?,?,?,?,?,?)"),
  place: database.prepare("SELECT pos, actor, seq, prev, back, far FROM event WHERE pos = ?"),
  one: database.prepare("SELECT id, header, body, actor, seq, pos FROM event WHERE pos = ?"),
  walkTo: database.prepare(walk("walk.pos <> ?2")),
  walkCount: database.prepare(walk("n < ?2")),
});

export class EventTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
    this.#sql.one.setReturnArrays(true);
    this.#sql.walkTo.setReturnArrays(true);
    this.#sql.walkCount.setReturnArrays(true);
  }

  append(pos: number, pk: number, seq: number, prev: number | null, { back, far }: SkipPointers, { id, header, body }: ChainEvent): void {
    this.#sql.append.run(pos, pk, seq, prev, back, seq % BACK === 0 ? far : null, id, header, body ?? null);
  }

  /** The skip pointers of the event that follows this end. */
  skipsOf(end: ChainEnd): SkipPointers {
    if (end.seq < BACK) return NO_SKIPS;
    const last = this.#at(end, end.pos, end.seq);
    const back = last.seq % BACK === 0 ? last : this.#at(end, last.back, last.seq - (last.seq % BACK));
    return { back: back.pos, far: back.seq % FAR === 0 ? back.pos : (back.far ?? null) };
  }

  /** From the last whole state on. Verifies each event: its hash, its body's hash and its parent. */
  tail(id: ActorId, end: ChainEnd): readonly ChainEvent[] {
    const rows = end.pos === end.full ? this.#sql.one.all(end.pos) : this.#sql.walkTo.all(end.pos, end.full);
    const events = eventsOf(end, rows, end.seq);
    if (rows.at(-1)?.[POS] !== end.full) throw missingEvent(end.seq - rows.length);
    let expected: string | null = end.head;
    for (const event of events) {
      checkEvent(event);
      if (event.id !== expected) throw damaged(`the chain of ${id} is torn`);
      expected = parentOf(event.header);
    }
    return events.toReversed();
  }

  /** As stored and not verified, so that a verifier sees what is wrong. */
  events(end: ChainEnd, afterSeq: number, limit: number): readonly ChainEvent[] {
    const from = Math.max(wholeNumber("afterSeq", afterSeq), 0);
    const last = Math.min(end.seq, from + wholeNumber("limit", limit));
    if (last <= from) return [];
    const events = eventsOf(end, this.#sql.walkCount.all(this.seek(end, last), last - from), last);
    if (events.length < last - from) throw missingEvent(last - events.length);
    return events.toReversed();
  }

  /** The place of an event, found by the longest jumps that do not pass it. */
  seek(end: ChainEnd, seq: number): number {
    let place = this.#at(end, end.pos, end.seq);
    while (place.seq > seq) {
      const before = place.seq - 1;
      const farSeq = before - (before % FAR);
      const backSeq = before - (before % BACK);
      if (place.far !== undefined && farSeq >= seq) place = this.#at(end, place.far, farSeq);
      else if (place.back !== undefined && backSeq >= seq) place = this.#at(end, place.back, backSeq);
      else place = this.#at(end, place.prev, before);
    }
    return place.pos;
  }

  #at(end: ChainEnd, pos: number | undefined, seq: number): Place {
    const columns = pos === undefined ? undefined : this.#sql.place.get(pos);
    if (columns === undefined || columns["actor"] !== end.pk || columns["seq"] !== seq) throw missingEvent(seq);
    const { prev, back, far } = columns;
    return { pos: int(columns["pos"]), seq, prev: maybeInt(prev), back: maybeInt(back), far: maybeInt(far) };
  }
}

/** The events of rows, newest first. Throws unless they are this actor's, and consecutive up to `lastSeq`. */
const eventsOf = (end: ChainEnd, rows: readonly Columns[], lastSeq: number): readonly ChainEvent[] =>
  rows.map((columns, index) => {
    if (columns[ACTOR] !== end.pk || columns[SEQ] !== lastSeq - index) throw missingEvent(lastSeq - index);
    return eventOf(columns[0], columns[1], columns[2]);
  });

export const missingEvent = (seq: number): StoreError => damaged(`event ${seq} is missing`, undefined, { seq });

export const eventIn = (columns: Record<string, SQLOutputValue>): ChainEvent => eventOf(columns["id"], columns["header"], columns["body"]);

function eventOf(id: unknown, header: unknown, body: unknown): ChainEvent {
  return body === null || body === undefined
    ? { id: text(id), header: text(header) }
    : { id: text(id), header: text(header), body: text(body) };
}

// Quotes within a JSON string are escaped, so the first match is the key.
function parentOf(header: string): string | null {
  const parent = /,"parent":(?:null|"([0-9a-f]{64})"),/u.exec(header);
  if (parent === null) throw damaged("an event names no parent");
  return parent[1] ?? null;
}

const sha256 = (value: string): string => hash("sha256", value, "hex");

/** C7. Throws `STORE_CORRUPT` unless the hashes match. */
function checkEvent(event: ChainEvent): void {
  if (sha256(event.header) !== event.id) throw damaged("an event was changed");
  if (event.body !== undefined && !event.header.endsWith(`,"body":"${sha256(event.body)}"}`)) throw damaged("an event's body was changed");
}

// ── finding events by id and by cause ───────────────────────────────────────

/** Events indexed in one transaction. */
const CHUNK = 2_000;
/** Events that may share a short hash. */
const MAX_ALIKE = 16;
// 48 bits, which a number holds exactly. Ids that share them are distinguished by the whole id.
const shortHash = (id: string): number => Number.parseInt(id.slice(0, 12), 16);
const isEventId = (id: string): boolean => /^[0-9a-f]{64}$/u.test(id);

const BY_HASH = "SELECT e.id, e.header, e.body FROM seek s JOIN event e ON e.pos = s.pos WHERE s.hash = ?";

const indexStatements = (database: DatabaseSync) => ({
  indexed: database.prepare("SELECT value FROM meta WHERE name = 'indexed'"),
  setIndexed: database.prepare("UPDATE meta SET value = ? WHERE name = 'indexed'"),
  last: database.prepare("SELECT max(pos) AS pos FROM event"),
  next: database.prepare("SELECT pos, id, header FROM event WHERE pos > ? ORDER BY pos LIMIT ?"),
  insert: database.prepare("INSERT INTO seek VALUES(?, ?) ON CONFLICT DO NOTHING"),
  delete: database.prepare("DELETE FROM seek WHERE hash = ? AND pos = ?"),
  byHash: database.prepare(`${BY_HASH} ORDER BY e.pos LIMIT ?`),
  byId: database.prepare(`${BY_HASH} AND e.id = ? ORDER BY s.pos LIMIT 1`),
  scanCause: database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND instr(header, ?) > 0 ORDER BY pos LIMIT ?"),
  scanId: database.prepare("SELECT id, header, body FROM event WHERE pos > ? AND id = ? LIMIT 1"),
});

/**
 * Ids are random, so an index updated with every commit would touch a page of its own for each event. This one is brought up to date when a
 * caller looks an event up, in short transactions between which others write.
 */
export class EventIndex {
  readonly #commits: GroupCommit | undefined;
  readonly #sql: ReturnType<typeof indexStatements>;
  #building: Promise<void> | undefined;

  /** Without `commits` nothing is written, and events that are not indexed yet are found by a scan. */
  constructor(database: DatabaseSync, commits?: GroupCommit) {
    this.#sql = indexStatements(database);
    this.#commits = commits;
  }

  /** Selected by the whole id, since actors are imported one by one and an event may then follow thousands that it caused. */
  async event(id: string): Promise<ChainEvent | undefined> {
    if (!isEventId(id)) return undefined;
    await this.#upToDate();
    const columns = this.#sql.byId.get(shortHash(id), id) ?? (this.#commits ? undefined : this.#sql.scanId.get(this.#indexedTo(), id));
    if (columns) return checkedEvent(columns);
    // An event whose id was changed in the file is not found by it: checking those of the same hash reports it.
    this.#sql.byHash.all(shortHash(id), MAX_ALIKE).forEach(checkedEvent);
    return undefined;
  }

  async caused(id: string): Promise<readonly ChainEvent[]> {
    if (!isEventId(id)) return [];
    await this.#upToDate();
    const rows = this.#sql.byHash.all(shortHash(id), MAX_EFFECTS + MAX_ALIKE);
    if (!this.#commits) rows.push(...this.#sql.scanCause.all(this.#indexedTo(), `,"cause":"${id}"`, MAX_EFFECTS));
    return rows
      .map(checkedEvent)
      .filter((event) => causeOf(event.header) === id)
      .slice(0, MAX_EFFECTS);
  }

  /** In the transaction that removes an event. */
  remove(pos: number, id: string, header: string): void {
    const cause = causeOf(header);
    this.#sql.delete.run(shortHash(id), pos);
    if (cause !== undefined) this.#sql.delete.run(shortHash(cause), pos);
  }

  /** The place up to which events are indexed. */
  #indexedTo(): number {
    return int(this.#sql.indexed.get()?.["value"]);
  }

  async #upToDate(): Promise<void> {
    if (this.#commits) await (this.#building ??= this.#build(this.#commits).finally(() => (this.#building = undefined)));
  }

  async #build(commits: GroupCommit): Promise<void> {
    const last = Number(this.#sql.last.get()?.["pos"] ?? 0);
    let indexed = this.#indexedTo();
    while (indexed < last) {
      const from = indexed;
      // Undefined where the rest was removed meanwhile.
      indexed = (await commits.add(() => this.#indexChunk(from))) ?? last;
    }
  }

  /** Returns the place it got to. Undefined: there are no events behind `from`. */
  #indexChunk(from: number): number | undefined {
    const entries: (readonly [short: number, pos: number])[] = [];
    let indexed: number | undefined;
    for (const columns of this.#sql.next.all(from, CHUNK)) {
      const pos = int(columns["pos"]);
      const cause = causeOf(text(columns["header"]));
      entries.push([shortHash(text(columns["id"])), pos]);
      if (cause !== undefined) entries.push([shortHash(cause), pos]);
      indexed = pos;
    }
    // Ascending, so that entries which share a page are written together.
    for (const [short, pos] of entries.toSorted((a, b) => a[0] - b[0])) this.#sql.insert.run(short, pos);
    if (indexed !== undefined) this.#sql.setIndexed.run(indexed);
    return indexed;
  }
}

function checkedEvent(columns: Record<string, SQLOutputValue>): ChainEvent {
  const event = eventIn(columns);
  checkEvent(event);
  return event;
}

// ── what no chain leads to ──────────────────────────────────────────────────

/**
 * Events that no chain leads to: at most `limit` sentences. Chains are read from their ends, so nothing else finds an event whose actor's row
 * was deleted, or was put back to an earlier event. Skips actors that are being removed (table `gone`).
 */
export function unlinkedEvents(database: DatabaseSync, limit: number): readonly string[] {
  const missing = database
    .prepare(
      `SELECT actor AS pk, count(*) AS n FROM event
       WHERE NOT EXISTS (SELECT 1 FROM actor WHERE actor.id = event.actor)
         AND actor NOT IN (SELECT actor FROM event WHERE pos IN (SELECT pos FROM gone))
       GROUP BY actor LIMIT ?`,
    )
    .all(limit);
  // After its next turn, such an actor has two events of the same number.
  const putBack = database
    .prepare(
      `SELECT kind, key, actor.seq AS last, max(event.seq) AS highest, count(*) - count(DISTINCT event.seq) AS twice
       FROM event JOIN actor ON actor.id = event.actor GROUP BY event.actor HAVING highest > last OR twice > 0 LIMIT ?`,
    )
    .all(limit);
  return [
    ...missing.map(
      ({ pk, n }) =>
        `${counted(int(n), "event")} of actor number ${int(pk)}, whose row is missing: it was deleted, or its chain was damaged when it was pruned. An export leaves them out.`,
    ),
    ...putBack.map(({ kind, key, last, highest, twice }) => {
      const lost = Math.max(0, int(highest) - int(last)) + int(twice);
      return `${counted(lost, "event")} of ${text(kind)}/${text(key)} that its chain does not lead to: its row was put back to an earlier event.`;
    }),
  ].slice(0, limit);
}
