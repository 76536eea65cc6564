import type { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * The highest number an actor has, and an event. Neither is given again once what had it was removed: remembered replies
 * and the index of events name it still.
 */
export class Numbers {
  readonly #actor: StatementSync;
  readonly #event: StatementSync;
  readonly #keep: StatementSync;

  constructor(database: DatabaseSync) {
    this.#actor = database.prepare(`SELECT ${highest("actor", "id")} AS n`);
    this.#event = database.prepare(`SELECT ${highest("event", "pos")} AS n`);
    this.#keep = database.prepare(
      `INSERT INTO meta VALUES('actor', ${highest("actor", "id")}), ('event', ${highest("event", "pos")})
       ON CONFLICT(name) DO UPDATE SET value = excluded.value`,
    );
  }

  get actor(): number {
    return Number(this.#actor.get()?.["n"]);
  }

  get event(): number {
    return Number(this.#event.get()?.["n"]);
  }

  /** Within the transaction that removes, before it does. */
  keep(): void {
    this.#keep.run();
  }
}

const highest = (table: "actor" | "event", column: string): string =>
  `max(coalesce((SELECT max(${column}) FROM ${table}), 0), coalesce((SELECT value FROM meta WHERE name = '${table}'), 0))`;
