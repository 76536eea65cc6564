// Owns: writing one turn in the batch's transaction. Does not own: the transaction (group-commit.ts).
//
// C6: the head is compared with what this process wrote last and, in the statement itself, with the file. C5: what the turn sends, the
// message it consumed and the rows of indexes are written in the same transaction.

import type { DatabaseSync } from "node:sqlite";
import type { ActorId, Entry, StoreError } from "../contract/index.ts";
import type { CommitCallbacks } from "../contract/internal.ts";
import { ActorTable, hasSameStatics, type Head, type HeadCache } from "./actor-table.ts";
import { type EventTable, NO_SKIPS, skipsAfter } from "./event-table.ts";
import type { PendingWrite } from "./group-commit.ts";
import type { IndexTables } from "./index-tables.ts";
import type { OutboxTable } from "./outbox-table.ts";
import type { Replies } from "./remembered-replies.ts";
import { conflict, expiresAfter } from "./rules.ts";
import { Sequences } from "./schema.ts";

/** Fewer than `HeadCache` always holds, so that none of them is evicted before its row is written. */
const MAX_UNWRITTEN = 1_000;

export class TurnWriter {
  readonly #heads: HeadCache;
  readonly #log: EventTable;
  readonly #outbox: OutboxTable;
  readonly #replies: Replies;
  readonly #indexes: IndexTables;
  readonly #rows: ActorTable;
  readonly #sequences: Sequences;
  /** The last place in the log, and the last actor's id. */
  #pos: number | undefined;
  #pk: number | undefined;
  /** Heads whose rows are written at the end of the transaction, once per actor. A head whose row was written since is skipped. */
  #unwritten: Head[] = [];

  constructor(database: DatabaseSync, heads: HeadCache, log: EventTable, outbox: OutboxTable, replies: Replies, indexes: IndexTables) {
    this.#heads = heads;
    this.#log = log;
    this.#outbox = outbox;
    this.#replies = replies;
    this.#indexes = indexes;
    this.#rows = new ActorTable(database);
    this.#sequences = new Sequences(database);
  }

  /** The transaction was rolled back: drops what is cached. */
  rolledBack(): void {
    this.#pos = undefined;
    this.#pk = undefined;
    this.#unwritten = [];
    this.#heads.clear();
    this.#indexes.rolledBack();
  }

  /** At the end of a transaction. Throws `STORE_CONFLICT`: then the transaction must not be committed. */
  writeRows(): void {
    for (const head of this.#unwritten)
      if (head.storedPos !== head.pos && !this.#rows.updateDynamic(head)) throw conflict(head.id, "has another writer");
    this.#unwritten = [];
    this.#indexes.writeRecent();
  }

  /** In a transaction that ends with `writeRows`. Throws `STORE_CONFLICT` before it wrote anything of this turn. */
  write(id: ActorId, entry: Entry): void {
    const { seq, event } = entry;
    const head = this.#heads.get(id);
    this.#refuseConflict(id, entry, head);
    this.#pos ??= this.#sequences.event;
    const pos = this.#pos + 1;
    const full = entry.full ? pos : (head?.full ?? 0);
    const skips = head === undefined ? NO_SKIPS : (head.skips ??= this.#log.skipsOf(head));
    const prev = head?.pos ?? null;
    const pk = this.#writeRow(id, entry, head, pos, full);
    this.#pos = pos;
    this.#log.append(pos, pk, seq, prev, skips, event);
    if (head !== undefined) head.skips = skipsAfter(seq, pos, skips);
    for (const message of entry.out) this.#outbox.add(message);
    if (entry.consumed !== undefined) this.#outbox.remove(entry.consumed);
    if (entry.remember) this.#replies.add(pk, entry.remember);
    for (const answered of entry.answered ?? []) this.#replies.add(pk, answered);
    if (entry.claimed) this.#replies.add(pk, entry.claimed);
    if (entry.indexed === undefined) this.#indexes.makeStale(id);
    else if (entry.indexed.length > 0) this.#indexes.write({ pk, id, owner: entry.row.owner }, entry.indexed);
  }

  #refuseConflict(id: ActorId, { after, seq, consumed }: Entry, head: Head | undefined): void {
    if ((head?.head ?? null) !== after)
      throw conflict(id, after === null ? "has begun already" : head === undefined ? "is not there" : "has had another turn meanwhile");
    if (seq !== (head?.seq ?? 0) + 1) throw conflict(id, `was to get event ${seq} after event ${head?.seq ?? 0}`);
    if (consumed !== undefined && !this.#outbox.has(consumed)) throw conflict(id, `has applied message ${consumed} already`);
  }

  /** A message came at this time that left no event. Throws `STORE_CONFLICT`. */
  touch(id: ActorId, at: number): void {
    const head = this.#heads.get(id);
    if (head === undefined || head.row.status === "stopped" || head.row.lastMessageAt >= at) return;
    const { row, seq, head: last, pos, full } = head;
    if (!this.#rows.update(head, { ...row, lastMessageAt: at }, seq, last, pos, full)) throw conflict(id, "has another writer");
  }

  /** Returns the actor's id in its table. */
  #writeRow(id: ActorId, { row, seq, event }: Entry, head: Head | undefined, pos: number, full: number): number {
    if (head === undefined) {
      this.#pk ??= this.#sequences.actor;
      const pk = this.#pk + 1;
      this.#heads.set(id, this.#rows.insert(id, pk, row, seq, event.id, pos, full));
      this.#pk = pk;
      return pk;
    }
    if (!hasSameStatics(head.row, row) || !expiresAfter(row, head.due)) {
      if (!this.#rows.update(head, row, seq, event.id, pos, full)) throw conflict(id, "has another writer");
      return head.pk;
    }
    if (head.storedPos === head.pos) this.#unwritten.push(head);
    head.row = row;
    head.seq = seq;
    head.head = event.id;
    head.pos = pos;
    head.full = full;
    if (this.#unwritten.length >= MAX_UNWRITTEN) this.writeRows();
    return head.pk;
  }
}

/** A turn in a batch. */
export class TurnWrite implements PendingWrite {
  refusal: StoreError | undefined;
  readonly #turns: TurnWriter;
  readonly #id: ActorId;
  readonly #entry: Entry;
  readonly #callbacks: CommitCallbacks;

  constructor(turns: TurnWriter, id: ActorId, entry: Entry, callbacks: CommitCallbacks) {
    this.#turns = turns;
    this.#id = id;
    this.#entry = entry;
    this.#callbacks = callbacks;
  }

  run(): void {
    this.#turns.write(this.#id, this.#entry);
  }

  settle(fault: Error | undefined): void {
    if (fault === undefined) this.#callbacks.onCommitted();
    else this.#callbacks.onFailed(fault);
  }
}
