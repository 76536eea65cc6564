import { crc32 } from "node:zlib";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { StoreError, type Damaged, type Letter, type Message, type Undelivered } from "../contract/index.ts";
import { asReplay } from "../contract/internal.ts";
import { damaged, int, text } from "./column.ts";
import { readMessage } from "./message.ts";
import { storeFault } from "./sqlite-error.ts";
import { wholeRows } from "./whole-rows.ts";

/** Of a page of messages: its texts are at most so long, the last of them not counted. */
const PAGE_LENGTH = 8_388_608;

/** C5: messages that left with a commit and were not applied yet, in the order they were committed; and the dead ones. */
export class Outbox {
  readonly #insert: StatementSync;
  readonly #has: StatementSync;
  readonly #delete: StatementSync;
  readonly #fail: StatementSync;
  readonly #die: StatementSync;
  readonly #letter: StatementSync;
  readonly #drop: StatementSync;
  readonly #every: StatementSync;
  readonly #order: StatementSync;
  readonly #waiting: StatementSync;
  readonly #letters: StatementSync;
  readonly #all: StatementSync;
  readonly #keep: StatementSync;
  readonly #keepLetter: StatementSync;
  readonly #kept: StatementSync;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare("INSERT INTO outbox(id, failures, message, sum) VALUES(?, 0, ?, ?) ON CONFLICT(id) DO NOTHING");
    this.#has = database.prepare("SELECT 1 FROM outbox WHERE id = ?");
    this.#delete = database.prepare("DELETE FROM outbox WHERE id = ?");
    this.#fail = database.prepare("UPDATE outbox SET failures = failures + 1 WHERE id = ?");
    this.#die = database.prepare(
      "INSERT INTO letter(id, at, why, message, sum) SELECT id, ?, ?, message, sum FROM outbox WHERE id = ? ON CONFLICT(id) DO NOTHING",
    );
    this.#letter = database.prepare("SELECT id, message, sum FROM letter WHERE id = ?");
    this.#drop = database.prepare("DELETE FROM letter WHERE id = ?");
    this.#every = database.prepare("SELECT id, message, failures, sum FROM outbox ORDER BY pos");
    this.#order = database.prepare("SELECT pos, id FROM outbox ORDER BY pos");
    this.#waiting = database.prepare("SELECT id, message, failures, sum FROM outbox WHERE pos = ?");
    this.#letters = database.prepare("SELECT id, message, why, at, sum FROM letter ORDER BY pos LIMIT ?");
    this.#all = database.prepare("SELECT id, message, sum FROM outbox UNION ALL SELECT id, message, sum FROM letter");
    this.#keep = database.prepare("INSERT INTO outbox(id, failures, message, sum) VALUES(?,?,?,?)");
    this.#keepLetter = database.prepare("INSERT INTO letter(id, at, why, message, sum) VALUES(?,?,?,?,?)");
    this.#kept = database.prepare("SELECT message FROM outbox WHERE id = ?1 UNION ALL SELECT message FROM letter WHERE id = ?1");
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
    const columns = this.#letter.get(id);
    if (columns === undefined) return false;
    this.add(asReplay(messageIn(columns)));
    return this.drop(id);
  }

  drop(id: string): boolean {
    return this.#drop.run(id).changes === 1;
  }

  /** Their texts are read one by one, so that a page ends where it has grown large. */
  undelivered(limit: number, lost?: Damaged, except?: ReadonlySet<string>): readonly Undelivered[] {
    const whole: Undelivered[] = [];
    let length = 0;
    for (const { pos, id } of this.#order.iterate()) {
      if (whole.length >= limit || length >= PAGE_LENGTH) break;
      if (except?.has(text(id)) === true) continue;
      const columns = this.#waiting.get(int(pos)) ?? {};
      try {
        whole.push(undeliveredIn(columns));
        length += text(columns["message"]).length;
      } catch (error) {
        if (lost === undefined || !(error instanceof StoreError)) throw error;
        lost(error);
      }
    }
    return whole;
  }

  letters(limit: number, lost?: Damaged): readonly Letter[] {
    return wholeRows(limit, (most) => this.#letters.all(most), letterIn, lost && ((error) => lost(error)));
  }

  /** All, read as they are asked for. */
  *everyUndelivered(): Generator<Undelivered> {
    for (const columns of this.#every.iterate()) yield undeliveredIn(columns);
  }

  *everyLetter(): Generator<Letter> {
    for (const columns of this.#letters.iterate(-1)) yield letterIn(columns);
  }

  /** From elsewhere. False: it is there already, waiting or dead. Throws `STORE_CONFLICT` where another is there under its id. */
  keep({ message, failures }: Undelivered): boolean {
    const written = JSON.stringify(message);
    if (this.#isKept(message, written)) return false;
    this.#keep.run(message.id, failures, written, crc32(written));
    return true;
  }

  /** Likewise. */
  keepLetter({ message, why, at }: Letter): boolean {
    const written = JSON.stringify(message);
    if (this.#isKept(message, written)) return false;
    this.#keepLetter.run(message.id, at, why, written, crc32(written));
    return true;
  }

  #isKept({ id }: Message, written: string): boolean {
    const found = this.#kept.get(id);
    if (found === undefined) return false;
    if (found["message"] === written) return true;
    throw new StoreError("STORE_CONFLICT", `Another message waits here under the id ${id}: import into another directory.`);
  }

  /** What is wrong with messages, dead ones included: at most `limit` sentences. */
  flaws(limit: number): readonly string[] {
    const found: string[] = [];
    for (const columns of this.#all.iterate()) {
      if (found.length >= limit) break;
      try {
        messageIn(columns);
      } catch (error) {
        found.push(storeFault(error).message);
      }
    }
    return found;
  }
}

type Columns = Readonly<Record<string, SQLOutputValue>>;

function messageIn(columns: Columns): Message {
  const { id, message, sum } = columns;
  if (typeof message !== "string" || crc32(message) !== sum) throw damaged(`message ${String(id)} was changed while it waited`);
  return readMessage(message);
}

const undeliveredIn = (columns: Columns): Undelivered => ({ message: messageIn(columns), failures: int(columns["failures"]) });

const letterIn = (columns: Columns): Letter => ({ message: messageIn(columns), why: text(columns["why"]), at: int(columns["at"]) });
