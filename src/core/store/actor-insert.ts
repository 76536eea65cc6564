import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ActorId } from "../contract/index.ts";
import { WRITTEN } from "./actor-row.ts";
import { split } from "./column.ts";

/** Adds the row of an actor that was not there, and counts it. */
export class ActorInsert {
  readonly #insert: StatementSync;
  readonly #tally: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(`INSERT INTO actor(id, kind, key, ${WRITTEN.join(", ")}) VALUES(?,?,?${",?".repeat(WRITTEN.length)})`);
    this.#tally = database.prepare("INSERT INTO tally VALUES(?, 1) ON CONFLICT(kind) DO UPDATE SET n = n + 1");
  }

  run(pk: number, id: ActorId, columns: readonly (string | number | null)[]): void {
    const [kind, key] = split(id);
    this.#insert.run(pk, kind, key, ...columns);
    this.#tally.run(kind);
  }
}
