import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Ended, StoreError } from "../contract/index.ts";
import { kindOf } from "../contract/internal.ts";
import { maybeInt } from "./column.ts";
import type { GroupCommit } from "./group-commit.ts";
import { Numbers } from "./numbers.ts";
import { overwriting } from "./overwrite.ts";
import type { SeekIndex } from "./seek-index.ts";
import { isDamage, storeFault } from "./sqlite-error.ts";
import type { Tips } from "./tips.ts";
import type { TurnWriter } from "./turn-writer.ts";

/** Events that go in one transaction: others write between two. */
const CHUNK = 256;

export interface RemoverParts {
  readonly commits: GroupCommit;
  readonly tips: Tips;
  readonly turns: TurnWriter;
  readonly seek: SeekIndex;
  /** Told of a chain of which some could not be read, so that it stays. */
  readonly damaged: (fault: StoreError) => void;
}

/**
 * Takes actors away that have ended. One is gone with its row, in one transaction; its events follow in many, `gone` knows
 * from where on, and whoever opens the store next goes on with what a crash left.
 */
export class Remover {
  readonly #database: DatabaseSync;
  readonly #parts: RemoverParts;
  readonly #numbers: Numbers;
  readonly #row: StatementSync;
  readonly #tally: StatementSync;
  readonly #begin: StatementSync;
  readonly #next: StatementSync;
  readonly #event: StatementSync;
  readonly #delete: StatementSync;
  readonly #end: StatementSync;
  readonly #giveUp: StatementSync;
  #sweeping: Promise<void> | undefined;
  #closed = false;

  constructor(database: DatabaseSync, parts: RemoverParts) {
    this.#database = database;
    this.#parts = parts;
    this.#numbers = new Numbers(database);
    this.#row = database.prepare("DELETE FROM actor WHERE id = ?");
    this.#tally = database.prepare("UPDATE tally SET n = n - 1 WHERE kind = ?");
    this.#begin = database.prepare("INSERT INTO gone VALUES(?)");
    this.#next = database.prepare("SELECT pos FROM gone LIMIT 1");
    this.#event = database.prepare("SELECT prev, id, header FROM event WHERE pos = ?");
    this.#delete = database.prepare("DELETE FROM event WHERE pos = ?");
    this.#end = database.prepare("DELETE FROM gone WHERE pos = ?");
    this.#giveUp = database.prepare("DELETE FROM gone WHERE pos = (SELECT pos FROM gone LIMIT 1)");
  }

  /** Something is left that was to go. */
  get unfinished(): boolean {
    return this.#next.get() !== undefined;
  }

  /** Settles once nothing of it is left in the file, or the store is closed: the next to open it goes on. */
  async remove({ id, head }: Pick<Ended, "id" | "head">): Promise<boolean> {
    const { commits, tips, turns } = this.#parts;
    const isGone = await commits.add(() => {
      const tip = tips.get(id);
      if (tip === undefined || tip.head !== head || tip.row.status !== "stopped") return false;
      // The row is behind where this actor has had a turn in the same transaction.
      turns.writeRows();
      overwriting(this.#database, () => {
        this.#numbers.keep();
        this.#row.run(tip.pk);
        this.#tally.run(kindOf(id));
        this.#begin.run(tip.pos);
      });
      tips.drop(id);
      return true;
    });
    if (isGone) await this.sweep();
    return isGone;
  }

  /** Takes away the events of all that are gone. */
  sweep(): Promise<void> {
    return (this.#sweeping ??= this.#sweep().finally(() => (this.#sweeping = undefined)));
  }

  /** Settles when nothing more is handed over. */
  async closed(): Promise<void> {
    this.#closed = true;
    await this.#sweeping?.catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const { commits, damaged } = this.#parts;
    while (!this.#closed && this.unfinished)
      try {
        await commits.add(() => overwriting(this.#database, () => this.#chunk()));
      } catch (error) {
        const fault = storeFault(error);
        if (!isDamage(fault)) throw fault;
        damaged(fault);
        await commits.add(() => void this.#giveUp.run());
      }
    if (this.#closed) return;
    commits.emptyLog();
  }

  #chunk(): void {
    for (let left = CHUNK; left > 0;) {
      const head = maybeInt(this.#next.get()?.["pos"]);
      if (head === undefined) return;
      this.#end.run(head);
      let pos: number | undefined = head;
      for (; pos !== undefined && left > 0; left -= 1) pos = this.#dropEvent(pos);
      if (pos !== undefined) this.#begin.run(pos);
    }
  }

  /** Returns the place of the one before it. Throws no `StoreError`, which would say that nothing was written. */
  #dropEvent(pos: number): number | undefined {
    const { id, header, prev } = this.#event.get(pos) ?? {};
    if (typeof id === "string" && typeof header === "string") this.#parts.seek.drop(pos, id, header);
    this.#delete.run(pos);
    return typeof prev === "number" ? prev : undefined;
  }
}
