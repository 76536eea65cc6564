/**
 * One entry into the log. C6: the head is compared with what this process wrote last and,
 * in the statement itself, with what the file says. C5: what the turn sends, and the
 * message it consumed, go with it in one transaction.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { StoreError, type ActorId, type Entry } from "../contract/index.ts";
import type { CommitCallbacks } from "../contract/internal.ts";
import { ActorInsert } from "./actor-insert.ts";
import { columnsOf, expiry, rowSum, sameCold, WRITTEN } from "./actor-row.ts";
import type { Tip, Tips } from "./tips.ts";
import { INSERT_EVENT } from "./event-writer.ts";
import type { Waiting } from "./group-commit.ts";
import type { History } from "./history.ts";
import { Numbers } from "./numbers.ts";
import type { Outbox } from "./outbox.ts";
import type { Replies } from "./replies.ts";

/** Fewer than the tips that are remembered, so that none of them is forgotten before its row is written. */
const MOST_LATE = 1_000;

const conflict = (id: ActorId, what: string): StoreError =>
  new StoreError("STORE_CONFLICT", `${id} ${what}. Load it again, then repeat the turn.`);

export class TurnWriter {
  readonly #tips: Tips;
  readonly #history: History;
  readonly #outbox: Outbox;
  readonly #replies: Replies;
  readonly #begin: ActorInsert;
  readonly #warm: StatementSync;
  readonly #cold: StatementSync;
  readonly #event: StatementSync;
  readonly #numbers: Numbers;
  #pos: number | undefined;
  #pk: number | undefined;
  /** Rows behind their actors' turns: written once a transaction, however many turns an actor had in it. One that has caught up may be among them. */
  #late: Tip[] = [];

  constructor(database: DatabaseSync, tips: Tips, history: History, outbox: Outbox, replies: Replies) {
    this.#tips = tips;
    this.#history = history;
    this.#outbox = outbox;
    this.#replies = replies;
    this.#begin = new ActorInsert(database);
    this.#warm = database.prepare(
      "UPDATE actor SET seq = ?, head = ?, pos = ?, full = ?, version = ?, seen = ?, count = ?, sum = ? WHERE id = ? AND pos = ?",
    );
    this.#cold = database.prepare(`UPDATE actor SET ${WRITTEN.join(" = ?, ")} = ? WHERE id = ? AND pos = ?`);
    this.#event = database.prepare(INSERT_EVENT);
    this.#numbers = new Numbers(database);
  }

  /** Nothing that was remembered holds any more. */
  rolledBack(): void {
    this.#pos = undefined;
    this.#pk = undefined;
    this.#late = [];
    this.#tips.clear();
  }

  /** Within a transaction, last. Throws `STORE_CONFLICT`: then the transaction must not be kept. */
  writeRows(): void {
    for (const tip of this.#late) {
      const { row, seq, head, pos, full } = tip;
      if (tip.kept === pos) continue;
      const sum = rowSum(tip.cold, seq, head, pos, full, row);
      const { changes } = this.#warm.run(seq, head, pos, full, row.version, row.lastMessageAt, row.messageCount, sum, tip.pk, tip.kept);
      if (changes !== 1) throw conflict(tip.id, "has another writer");
      tip.kept = pos;
    }
    this.#late = [];
  }

  /** Within a transaction, which `writeRows` ends. Throws `STORE_CONFLICT` before it wrote anything. */
  write(id: ActorId, entry: Entry): void {
    const tip = this.#tips.get(id);
    if ((tip?.head ?? null) !== entry.after)
      throw conflict(
        id,
        entry.after === null ? "has begun already" : tip === undefined ? "is not there" : "has had another turn meanwhile",
      );
    if (entry.seq !== (tip?.seq ?? 0) + 1) throw conflict(id, `was to get event ${entry.seq} after event ${tip?.seq ?? 0}`);
    if (entry.consumed !== undefined && !this.#outbox.has(entry.consumed))
      throw conflict(id, `has applied message ${entry.consumed} already`);
    this.#pos ??= this.#numbers.event;
    const pos = this.#pos + 1;
    const full = entry.full ? pos : (tip?.full ?? 0);
    const marks = tip === undefined ? { back: null, far: null } : (tip.marks ??= this.#history.marksAfter(tip));
    const prev = tip?.pos ?? null;
    const pk = this.#row(id, entry, tip, pos, full);
    this.#pos = pos;
    const isBack = entry.seq % 64 === 0;
    this.#event.run(
      pos,
      pk,
      entry.seq,
      prev,
      marks.back,
      isBack ? marks.far : null,
      entry.event.id,
      entry.event.header,
      entry.event.body ?? null,
    );
    const known = isBack ? this.#tips.get(id) : undefined;
    if (known) known.marks = { back: pos, far: entry.seq % 4_096 === 0 ? pos : marks.far };
    for (const message of entry.out) this.#outbox.add(message);
    if (entry.consumed !== undefined) this.#outbox.remove(entry.consumed);
    if (entry.remember) this.#replies.add(pk, entry.remember);
    for (const late of entry.answered ?? []) this.#replies.add(pk, late);
    if (entry.claimed) this.#replies.claim(pk, entry.claimed);
  }

  #row(id: ActorId, entry: Entry, tip: Tip | undefined, pos: number, full: number): number {
    const { row, seq } = entry;
    const head = entry.event.id;
    if (tip !== undefined && sameCold(tip.row, row) && (expiry(row) ?? Infinity) >= (tip.due ?? 0)) {
      if (tip.kept === tip.pos) this.#late.push(tip);
      tip.row = row;
      tip.seq = seq;
      tip.head = head;
      tip.pos = pos;
      tip.full = full;
      if (this.#late.length >= MOST_LATE) this.writeRows();
      return tip.pk;
    }
    const { columns, cold, due } = columnsOf(row, seq, head, pos, full);
    if (tip === undefined) {
      this.#pk ??= this.#numbers.actor;
      const pk = this.#pk + 1;
      this.#begin.run(pk, id, columns);
      this.#pk = pk;
      this.#tips.set(id, { id, pk, row, cold, seq, head, pos, full, kept: pos, due, marks: { back: null, far: null } });
      return pk;
    }
    const { changes } = this.#cold.run(...columns, tip.pk, tip.kept);
    if (changes !== 1) throw conflict(id, "has another writer");
    Object.assign(tip, { row, cold, seq, head, pos, full, kept: pos, due });
    return tip.pk;
  }
}

/** A turn that waits for its group. */
export class WaitingTurn implements Waiting {
  readonly #turns: TurnWriter;
  readonly #id: ActorId;
  readonly #entry: Entry;
  readonly #ends: CommitCallbacks;
  #refused: StoreError | undefined;

  constructor(turns: TurnWriter, id: ActorId, entry: Entry, ends: CommitCallbacks) {
    this.#turns = turns;
    this.#id = id;
    this.#entry = entry;
    this.#ends = ends;
  }

  run(): void {
    this.#refused = undefined;
    try {
      this.#turns.write(this.#id, this.#entry);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#refused = error;
    }
  }

  settle(fault: Error | undefined): void {
    const why = this.#refused ?? fault;
    if (why === undefined) this.#ends.onCommitted();
    else this.#ends.onFailed(why);
  }
}
