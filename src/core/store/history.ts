import { hash } from "node:crypto";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId, ChainEvent, StoreError } from "../contract/index.ts";
import type { Tip } from "./tips.ts";
import { damaged, int, maybeInt, text } from "./column.ts";

interface Place {
  readonly pos: number;
  readonly seq: number;
  readonly prev: number | undefined;
  readonly back: number | undefined;
  readonly far: number | undefined;
}

// One statement a walk: asking for each event by itself takes twice as long.
const walk = (until: string): string => `
  WITH RECURSIVE walk(pos, n) AS (
    VALUES(?1, 1) UNION ALL
    SELECT e.prev, n + 1 FROM walk JOIN event e ON e.pos = walk.pos WHERE e.prev IS NOT NULL AND ${until})
  SELECT e.id, e.header, e.body, e.actor, e.seq, e.pos FROM walk JOIN event e ON e.pos = walk.pos`;

/** A row by the places of its columns; the event comes first. */
type Listed = Readonly<Record<number, SQLOutputValue>>;

const ACTOR = 3;
const SEQ = 4;
const POS = 5;

/** The log, walked from an actor's head towards its beginning. */
export class History {
  readonly #place: StatementSync;
  readonly #downTo: StatementSync;
  readonly #count: StatementSync;

  constructor(database: DatabaseSync) {
    this.#place = database.prepare("SELECT pos, actor, seq, prev, back, far FROM event WHERE pos = ?");
    this.#downTo = database.prepare(walk("walk.pos <> ?2"));
    this.#count = database.prepare(walk("n < ?2"));
    // Rows by place: to make an object with six names of each takes longer than to find it.
    this.#downTo.setReturnArrays(true);
    this.#count.setReturnArrays(true);
  }

  /** Where the next event's `back` and `far` point. */
  marksAfter(tip: Tip): { back: number | null; far: number | null } {
    if (tip.seq < 64) return { back: null, far: null };
    const head = this.#at(tip, tip.pos, tip.seq);
    const back = head.seq % 64 === 0 ? head : this.#at(tip, head.back, head.seq - (head.seq % 64));
    return { back: back.pos, far: back.seq % 4_096 === 0 ? back.pos : (back.far ?? null) };
  }

  /** From the last whole state on, each checked: its hash, its body's, its parent. */
  tail(id: ActorId, tip: Tip): readonly ChainEvent[] {
    const rows = this.#downTo.all(tip.pos, tip.full);
    const events = this.#events(tip, rows, tip.seq);
    if (rows.at(-1)?.[POS] !== tip.full) throw missing(tip.seq - rows.length);
    let expected: string | null = tip.head;
    for (const event of events) {
      checkEvent(event);
      if (event.id !== expected) throw damaged(`the chain of ${id} is torn`);
      expected = parentOf(event.header);
    }
    return events.toReversed();
  }

  /** As stored, not hashed: whoever verifies wants to see what is wrong. */
  events(tip: Tip, afterSeq: number, limit: number): readonly ChainEvent[] {
    const from = Math.max(afterSeq, 0);
    const last = Math.min(tip.seq, from + limit);
    if (last <= from) return [];
    const events = this.#events(tip, this.#count.all(this.seek(tip, last).pos, last - from), last);
    if (events.length < last - from) throw missing(last - events.length);
    return events.toReversed();
  }

  /** The place of an event, by the longest jumps that do not pass it. */
  seek(tip: Tip, seq: number): Place {
    let place = this.#at(tip, tip.pos, tip.seq);
    while (place.seq > seq) {
      const farSeq = place.seq - 1 - ((place.seq - 1) % 4_096);
      const backSeq = place.seq - 1 - ((place.seq - 1) % 64);
      if (place.far !== undefined && farSeq >= seq) place = this.#at(tip, place.far, farSeq);
      else if (place.back !== undefined && backSeq >= seq) place = this.#at(tip, place.back, backSeq);
      else place = this.#at(tip, place.prev, place.seq - 1);
    }
    return place;
  }

  /** Rows as they came, newest first, held to be this actor's and consecutive. */
  #events(tip: Tip, rows: readonly Listed[], lastSeq: number): readonly ChainEvent[] {
    return rows.map((columns, index) => {
      if (columns[ACTOR] !== tip.pk || columns[SEQ] !== lastSeq - index) throw missing(lastSeq - index);
      return eventIn(columns[0], columns[1], columns[2]);
    });
  }

  #at(tip: Tip, pos: number | undefined, seq: number): Place {
    const columns = pos === undefined ? undefined : this.#place.get(pos);
    if (columns === undefined || columns["actor"] !== tip.pk || columns["seq"] !== seq) throw missing(seq);
    const { prev, back, far } = columns;
    return { pos: int(columns["pos"]), seq, prev: maybeInt(prev), back: maybeInt(back), far: maybeInt(far) };
  }
}

export const missing = (seq: number): StoreError => damaged(`event ${seq} is missing`, undefined, { seq });

export const readEvent = (columns: Record<string, SQLOutputValue>): ChainEvent =>
  eventIn(columns["id"], columns["header"], columns["body"]);

function eventIn(id: unknown, header: unknown, body: unknown): ChainEvent {
  return body === null || body === undefined
    ? { id: text(id), header: text(header) }
    : { id: text(id), header: text(header), body: text(body) };
}

// Within JSON's own strings the quotes would be escaped, so the first match is the key.
function parentOf(header: string): string | null {
  const parent = /,"parent":(?:null|"([0-9a-f]{64})"),/u.exec(header);
  if (parent === null) throw damaged("an event names no parent");
  return parent[1] ?? null;
}

const sha256 = (value: string): string => hash("sha256", value, "hex");

/** Throws `STORE_CORRUPT` unless the hashes fit. */
export function checkEvent(event: ChainEvent): void {
  if (sha256(event.header) !== event.id) throw damaged("an event was changed");
  if (event.body !== undefined && !event.header.endsWith(`,"body":"${sha256(event.body)}"}`)) throw damaged("an event's body was changed");
}
