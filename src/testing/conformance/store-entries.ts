// Owns: entries and messages for the suites of stores. Does not own: the tests (store-suite.ts).
import { hash } from "node:crypto";
import type { ActorId, ChainEvent, Entry, Json, Message, Row } from "../../core/contract/index.ts";

const sha256 = (text: string): string => hash("sha256", text, "hex");

/** What an entry of the store suite has instead of the defaults. */
export interface EntryOptions extends Partial<Omit<Entry, "row">> {
  readonly row?: Partial<Row>;
  readonly state?: Json;
  readonly cause?: string;
  readonly at?: number;
}

/** A message as an engine would have stamped it. */
export const messageTo = (to: ActorId, id: string, more: Partial<Message> = {}): Message => ({
  id,
  to,
  action: "poke",
  args: { by: '☃ "quoted"' },
  at: 1_000,
  seed: "00".repeat(16),
  ...more,
});

/** Writes one actor's chain: each call is the next turn, after the one before it. */
export class ChainWriter {
  readonly id: ActorId;
  /** Another life of the same key goes on in the same chain. */
  life: string;
  seq = 0;
  head: string | null = null;
  readonly events: ChainEvent[] = [];

  constructor(id: ActorId, life = `life-of-${id}`) {
    this.id = id;
    this.life = life;
  }

  /** Without `full`, whole states at 1, 17, 33, …. */
  next(options: EntryOptions = {}): Entry {
    const { row, state, cause, at = 1_000 + this.seq, ...entry } = options;
    this.seq += 1;
    const full = entry.full ?? this.seq % 16 === 1;
    const n = state ?? this.seq;
    const body = `{"message":null,${full ? `"state":{"n":${JSON.stringify(n)}}` : `"patch":{"n":[${JSON.stringify(n)}]}`},"version":1,"sent":[]}`;
    const parent = this.head === null ? "null" : `"${this.head}"`;
    const header = `{"actor":"${this.id}","life":"${this.life}","seq":${this.seq},"parent":${parent},"at":${at},"type":"poke"${
      cause === undefined ? "" : `,"cause":"${cause}"`
    },"body":"${sha256(body)}"}`;
    const event = { id: sha256(header), header, body };
    const after = this.head;
    this.head = event.id;
    this.events.push(event);
    return {
      after,
      seq: this.seq,
      event,
      full,
      out: [],
      ...entry,
      row: {
        uid: `uid-of-${this.life}`,
        life: this.life,
        version: 1,
        createdAt: 1_000,
        lastMessageAt: at,
        messageCount: this.seq,
        status: "live",
        wakes: {},
        pending: {},
        ...row,
      },
    };
  }
}
