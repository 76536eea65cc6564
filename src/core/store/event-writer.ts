import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ChainEvent } from "../contract/index.ts";
import { Numbers } from "./numbers.ts";

export const INSERT_EVENT = "INSERT INTO event(pos, actor, seq, prev, back, far, id, header, body) VALUES(?,?,?,?,?,?,?,?,?)";

/** Adds a whole chain to the end of the log, event by event, within one transaction. */
export class EventWriter {
  readonly #insert: StatementSync;
  #pk: number;
  #seq = 0;
  #back: number | null = null;
  #far: number | null = null;
  /** Place of the last event, and of the last one with a whole state. */
  pos: number;
  full = 0;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(INSERT_EVENT);
    const numbers = new Numbers(database);
    this.pos = numbers.event;
    this.#pk = numbers.actor;
  }

  /** The next actor's first event comes. Returns the row it belongs to. */
  begin(): number {
    this.#seq = 0;
    this.#back = null;
    this.#far = null;
    this.full = 0;
    return (this.#pk += 1);
  }

  add({ id, header, body = null }: Omit<ChainEvent, "body"> & { readonly body?: string | null }, full: boolean): void {
    const prev = this.#seq === 0 ? null : this.pos;
    this.#seq += 1;
    this.pos += 1;
    const isBack = this.#seq % 64 === 0;
    this.#insert.run(this.pos, this.#pk, this.#seq, prev, this.#back, isBack ? this.#far : null, id, header, body);
    if (full) this.full = this.pos;
    if (!isBack) return;
    this.#back = this.pos;
    if (this.#seq % 4_096 === 0) this.#far = this.pos;
  }
}
