import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { Tip } from "./tips.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { History } from "./history.ts";
import { overwriting } from "./overwrite.ts";

const CHUNK = 256;

/** C7: bodies go, headers stay. What was in them is overwritten in the file, and in its WAL. */
export class Eraser {
  readonly #database: DatabaseSync;
  readonly #commits: GroupCommit;
  readonly #history: History;
  readonly #seqAt: StatementSync;
  readonly #step: StatementSync;
  readonly #erase: StatementSync;

  constructor(database: DatabaseSync, commits: GroupCommit, history: History) {
    this.#database = database;
    this.#commits = commits;
    this.#history = history;
    this.#seqAt = database.prepare("SELECT seq FROM event WHERE pos = ?");
    this.#step = database.prepare("SELECT prev, body IS NULL AS gone FROM event WHERE pos = ?");
    this.#erase = database.prepare("UPDATE event SET body = NULL WHERE pos = ?");
  }

  async erase(tip: Tip, beforeSeq: number): Promise<number> {
    const full = Number(this.#seqAt.get(tip.full)?.["seq"] ?? 0);
    const last = Math.min(beforeSeq, full) - 1;
    if (last < 1) return 0;
    let pos: number | undefined = this.#history.seek(tip, last).pos;
    let count = 0;
    while (pos !== undefined) {
      const from: number = pos;
      const done = await this.#commits.add(() => overwriting(this.#database, () => this.#chunk(from)));
      count += done.count;
      pos = done.next;
    }
    if (count > 0) this.#commits.emptyLog();
    return count;
  }

  #chunk(from: number): { readonly count: number; readonly next: number | undefined } {
    let pos: number | undefined = from;
    let count = 0;
    for (let step = 0; step < CHUNK && pos !== undefined; step += 1) {
      const columns: Record<string, SQLOutputValue> | undefined = this.#step.get(pos);
      if (columns === undefined) return { count, next: undefined };
      if (columns["gone"] === 0) {
        this.#erase.run(pos);
        count += 1;
      }
      pos = typeof columns["prev"] === "number" ? columns["prev"] : undefined;
    }
    return { count, next: pos };
  }
}
