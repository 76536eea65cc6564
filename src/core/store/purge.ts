// Owns: deleting data for good: the bodies of events (C7: headers stay), and actors that have ended. Does not own: which of them to delete.
//
// What is deleted is overwritten in the file and removed from its log. Long chains go in batches, between which others write.

import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Ended, StoreError } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import type { Head, HeadCache } from "./actor-table.ts";
import type { EventIndex, EventTable } from "./event-table.ts";
import { isDamage, storeFault } from "./store-errors.ts";
import { maybeInt } from "./columns.ts";
import { overwriting } from "./database.ts";
import { wholeNumber } from "./rules.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { IndexTables } from "./index-tables.ts";
import { Sequences } from "./schema.ts";
import type { TurnWriter } from "./commit-turn.ts";

/** Events changed in one transaction. */
const CHUNK = 256;

export interface PurgeParts {
  readonly commits: GroupCommit;
  readonly heads: HeadCache;
  readonly turns: TurnWriter;
  readonly log: EventTable;
  readonly index: EventIndex;
  readonly indexes: IndexTables;
  /** Called for a chain that cannot be read wholly, so that the rest of it stays. */
  readonly onDamage: (fault: StoreError) => void;
}

const statements = (database: DatabaseSync) => ({
  seqAt: database.prepare("SELECT seq FROM event WHERE pos = ?"),
  bodyAt: database.prepare("SELECT prev, body IS NULL AS erased FROM event WHERE pos = ?"),
  eraseBody: database.prepare("UPDATE event SET body = NULL WHERE pos = ?"),
  deleteActor: database.prepare("DELETE FROM actor WHERE id = ?"),
  uncount: database.prepare("UPDATE tally SET n = n - 1 WHERE kind = ?"),
  addRest: database.prepare("INSERT INTO gone VALUES(?)"),
  nextRest: database.prepare("SELECT pos FROM gone LIMIT 1"),
  deleteRest: database.prepare("DELETE FROM gone WHERE pos = ?"),
  giveUp: database.prepare("DELETE FROM gone WHERE pos = (SELECT pos FROM gone LIMIT 1)"),
  event: database.prepare("SELECT prev, id, header FROM event WHERE pos = ?"),
  deleteEvent: database.prepare("DELETE FROM event WHERE pos = ?"),
});

export class Purge {
  readonly #database: DatabaseSync;
  readonly #parts: PurgeParts;
  readonly #sequences: Sequences;
  readonly #sql: ReturnType<typeof statements>;
  #sweeping: Promise<void> | undefined;
  #closed = false;

  constructor(database: DatabaseSync, parts: PurgeParts) {
    this.#sql = statements(database);
    this.#database = database;
    this.#parts = parts;
    this.#sequences = new Sequences(database);
  }

  /** Erases the bodies before `beforeSeq`, and none from the last whole state on. Returns how many. */
  async erase(head: Head, beforeSeq: number): Promise<number> {
    const full = Number(this.#sql.seqAt.get(head.full)?.["seq"] ?? 0);
    const last = Math.min(wholeNumber("beforeSeq", beforeSeq), full) - 1;
    if (last < 1) return 0;
    await this.#eraseRows(head);
    let count = 0;
    for (let pos: number | undefined = this.#parts.log.seek(head, last); pos !== undefined;) {
      const from: number = pos;
      const erased = await this.#write(() => this.#eraseChunk(from));
      count += erased.count;
      pos = erased.next;
    }
    if (count > 0) this.#parts.commits.emptyLog();
    return count;
  }

  /** What rows of indexes had before. Where an index is damaged, the bodies are erased all the same: an index can be rebuilt. */
  async #eraseRows(head: Head): Promise<void> {
    try {
      await this.#write(() => this.#parts.indexes.erase(head));
    } catch (error) {
      const fault = storeFault(error);
      if (!isDamage(fault)) throw fault;
      this.#parts.onDamage(fault);
    }
  }

  #eraseChunk(from: number): { readonly count: number; readonly next: number | undefined } {
    let pos: number | undefined = from;
    let count = 0;
    for (let step = 0; step < CHUNK && pos !== undefined; step += 1) {
      const { erased, prev }: Record<string, SQLOutputValue> = this.#sql.bodyAt.get(pos) ?? {};
      if (erased === 0) {
        this.#sql.eraseBody.run(pos);
        count += 1;
      }
      pos = typeof prev === "number" ? prev : undefined;
    }
    return { count, next: pos };
  }

  /**
   * Deletes an actor: its row in one transaction, its events in later ones, from the place in the table `gone`. Settles when nothing of it
   * is left in the file, or the store is closed; the next opening continues.
   */
  async remove({ id, head }: Pick<Ended, "id" | "head">): Promise<boolean> {
    const { heads, turns, indexes } = this.#parts;
    const isRemoved = await this.#write(() => {
      const current = heads.get(id);
      if (current?.head !== head || current.row.status !== "stopped") return false;
      // The actor may have had a turn in this transaction, whose row is not written yet.
      turns.writeRows();
      this.#sequences.save();
      this.#sql.deleteActor.run(current.pk);
      this.#sql.uncount.run(kindOf(id));
      this.#sql.addRest.run(current.pos);
      indexes.removed({ pk: current.pk, id, owner: undefined });
      heads.drop(id);
      return true;
    });
    if (isRemoved) await this.sweep();
    return isRemoved;
  }

  /** Events of removed actors are left. */
  get unfinished(): boolean {
    return this.#sql.nextRest.get() !== undefined;
  }

  /** Deletes the events of removed actors. */
  sweep(): Promise<void> {
    return (this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined)));
  }

  /** Settles when no more writes follow. */
  async closed(): Promise<void> {
    this.#closed = true;
    await this.#sweeping?.catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const { commits, onDamage } = this.#parts;
    while (!this.#closed && this.unfinished)
      try {
        await this.#write(() => this.#sweepChunk());
      } catch (error) {
        const fault = storeFault(error);
        if (!isDamage(fault)) throw fault;
        onDamage(fault);
        await commits.add(() => void this.#sql.giveUp.run());
      }
    if (!this.#closed) commits.emptyLog();
  }

  #sweepChunk(): void {
    for (let left = CHUNK; left > 0;) {
      const last = maybeInt(this.#sql.nextRest.get()?.["pos"]);
      if (last === undefined) return;
      this.#sql.deleteRest.run(last);
      let pos: number | undefined = last;
      for (; pos !== undefined && left > 0; left -= 1) pos = this.#removeEvent(pos);
      if (pos !== undefined) this.#sql.addRest.run(pos);
    }
  }

  /** Returns the place of the previous event. Throws no `StoreError`, which would mean that nothing was written. */
  #removeEvent(pos: number): number | undefined {
    const { id, header, prev } = this.#sql.event.get(pos) ?? {};
    if (typeof id === "string" && typeof header === "string") this.#parts.index.remove(pos, id, header);
    this.#sql.deleteEvent.run(pos);
    return typeof prev === "number" ? prev : undefined;
  }

  /** A write whose deletions overwrite the page content. */
  #write<T>(write: () => T): Promise<T> {
    return this.#parts.commits.add(() => overwriting(this.#database, write));
  }
}
