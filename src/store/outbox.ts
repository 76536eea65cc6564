import { crc32 } from "node:zlib";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Letter, Message, Undelivered } from "../contract/index.ts";
import { damaged, int, text } from "./column.ts";
import { readMessage } from "./message.ts";

/** C5: messages that left with a commit and were not applied yet, in the order they were committed; and the dead ones. */
export class Outbox {
  readonly #insert: StatementSync;
  readonly #has: StatementSync;
  readonly #delete: StatementSync;
  readonly #fail: StatementSync;
  readonly #die: StatementSync;
  readonly #replay: StatementSync;
  readonly #drop: StatementSync;
  readonly #undelivered: StatementSync;
  readonly #letters: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare("INSERT INTO outbox(id, failures, message, sum) VALUES(?, 0, ?, ?) ON CONFLICT(id) DO NOTHING");
    this.#has = database.prepare("SELECT 1 FROM outbox WHERE id = ?");
    this.#delete = database.prepare("DELETE FROM outbox WHERE id = ?");
    this.#fail = database.prepare("UPDATE outbox SET failures = failures + 1 WHERE id = ?");
    this.#die = database.prepare(
      "INSERT INTO letter(id, at, why, message, sum) SELECT id, ?, ?, message, sum FROM outbox WHERE id = ? ON CONFLICT(id) DO NOTHING",
    );
    this.#replay = database.prepare(
      "INSERT INTO outbox(id, failures, message, sum) SELECT id, 0, message, sum FROM letter WHERE id = ? ON CONFLICT(id) DO NOTHING",
    );
    this.#drop = database.prepare("DELETE FROM letter WHERE id = ?");
    this.#undelivered = database.prepare("SELECT message, failures, sum FROM outbox ORDER BY pos LIMIT ?");
    this.#letters = database.prepare("SELECT message, why, at, sum FROM letter ORDER BY pos LIMIT ?");
  }

  has(id: string): boolean {
    return this.#has.get(id) !== undefined;
  }

  add(message: Message): void {
    const written = JSON.stringify(message);
    this.#insert.run(message.id, written, crc32(written));
  }

  remove(id: string): void {
    this.#delete.run(id);
  }

  fail(id: string): void {
    this.#fail.run(id);
  }

  die(id: string, why: string, at: number): void {
    this.#die.run(at, why, id);
    this.#delete.run(id);
  }

  replay(id: string): boolean {
    this.#replay.run(id);
    return this.drop(id);
  }

  drop(id: string): boolean {
    return this.#drop.run(id).changes === 1;
  }

  undelivered(limit: number): readonly Undelivered[] {
    return this.#undelivered.all(limit).map((columns) => ({ message: read(columns), failures: int(columns["failures"]) }));
  }

  letters(limit: number): readonly Letter[] {
    return this.#letters.all(limit).map((columns) => ({ message: read(columns), why: text(columns["why"]), at: int(columns["at"]) }));
  }
}

function read(columns: Readonly<Record<string, unknown>>): Message {
  const written = text(columns["message"]);
  if (crc32(written) !== int(columns["sum"])) throw damaged("a message in the outbox was changed");
  return readMessage(written);
}
