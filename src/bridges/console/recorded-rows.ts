// Owns: the recorded messages in bounded memory: the newest ones, and which request caused an event. Does not own: which are recorded
// (traffic.ts), and what is stored of one (traffic-row.ts).

import type { ActorId, Receipt } from "../../core/contract/index.ts";
import { isAddress } from "../../core/contract/internal.ts";
import { Bounded } from "./bounded.ts";
import type { CausingRequest } from "./shapes.ts";
import type { RecordedRow } from "./traffic-row.ts";

/** Events whose request is still known. A client that polls fills the recorded messages within minutes, and a dead letter stays for days. */
const MOST_EARLIER = 10_000;

export class RecordedRows {
  /** By number, modulo its length. */
  readonly #rows: (RecordedRow | undefined)[];
  readonly #mostSize: number;
  readonly #byEvent = new Map<string, RecordedRow>();
  /** Of messages that are not recorded any more. */
  readonly #earlier = new Bounded<string, CausingRequest>(MOST_EARLIER);
  #next = 1;
  #oldest = 1;
  #size = 0;
  #stamp = 0;

  constructor(mostRows: number, mostSize: number) {
    this.#rows = Array.from({ length: mostRows });
    this.#mostSize = mostSize;
  }

  get next(): number {
    return this.#next;
  }

  /** Grows with each change of a row. */
  get stamp(): number {
    return this.#stamp;
  }

  /** A row with the number `next`. */
  add(row: RecordedRow): void {
    const at = row.n % this.#rows.length;
    this.#forget(this.#rows[at]);
    this.#next += 1;
    this.#rows[at] = row;
    this.#size += row.size;
    row.held = row.size;
    this.changed(row);
  }

  changed(row: RecordedRow): void {
    this.#stamp += 1;
    row.stamp = this.#stamp;
    if (this.find(row.n) !== row) return;
    this.#size += row.size - row.held;
    row.held = row.size;
    while (this.#size > this.#mostSize && this.#oldest < row.n) this.#forget(this.find(this.#oldest));
  }

  #forget(row: RecordedRow | undefined): void {
    if (row === undefined) return;
    this.#rows[row.n % this.#rows.length] = undefined;
    const { n: _, ...request } = row.reference;
    for (const { actor, seq } of row.events) {
      this.#byEvent.delete(eventKey(actor, seq));
      this.#earlier.set(eventKey(actor, seq), request);
    }
    this.#size -= row.held;
    while (this.#oldest < this.#next && this.find(this.#oldest) === undefined) this.#oldest += 1;
  }

  /** It has caused an event. */
  committed(row: RecordedRow, { actor, seq }: Pick<Receipt, "actor" | "seq">): void {
    if (this.find(row.n) !== row || !isAddress(actor) || !row.committed({ actor, seq })) return;
    row.client.actor = actor;
    this.#byEvent.set(eventKey(actor, seq), row);
    this.changed(row);
  }

  /** The request that caused an event. Undefined: none did, or it is not known any more. */
  requestOf(actor: ActorId, seq: number): CausingRequest | undefined {
    const key = eventKey(actor, seq);
    return this.#byEvent.get(key)?.reference ?? this.#earlier.get(key);
  }

  find(n: number): RecordedRow | undefined {
    const row = this.#rows[n % this.#rows.length];
    return row?.n === n ? row : undefined;
  }

  /** Newest first. */
  *newest(): Generator<RecordedRow> {
    for (let n = this.#next - 1; n >= this.#oldest; n -= 1) {
      const row = this.find(n);
      if (row !== undefined) yield row;
    }
  }
}

const eventKey = (actor: ActorId, seq: number): string => `${seq} ${actor}`;
