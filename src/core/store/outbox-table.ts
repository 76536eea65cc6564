// Owns: C5, messages that were committed and not applied yet, in the order they were committed; and dead letters. Does not own: delivery
// (core/engine).

import { crc32 } from "node:zlib";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import {
  type Damaged,
  isJsonObject,
  type DeadLetter,
  type Message,
  type OutboxAck,
  StoreError,
  type Undelivered,
} from "../contract/index.ts";
import { asReplay } from "../contract/internal.ts";
import { damaged, storeFault } from "./store-errors.ts";
import { int, parsed, readableRows, text } from "./columns.ts";

/** The texts of a page of messages have at most so many characters, not counting the last one. */
const PAGE_LENGTH = 8_388_608;

type Columns = Readonly<Record<string, SQLOutputValue>>;

const statements = (database: DatabaseSync) => ({
  insert: database.prepare("INSERT INTO outbox(id, failures, message, sum) VALUES(?, ?, ?, ?) ON CONFLICT(id) DO NOTHING"),
  has: database.prepare("SELECT 1 FROM outbox WHERE id = ?"),
  delete: database.prepare("DELETE FROM outbox WHERE id = ?"),
  countFailure: database.prepare("UPDATE outbox SET failures = failures + 1 WHERE id = ?"),
  toLetter: database.prepare(
    "INSERT INTO letter(id, at, why, message, sum) SELECT id, ?, ?, message, sum FROM outbox WHERE id = ? ON CONFLICT(id) DO NOTHING",
  ),
  places: database.prepare("SELECT pos, id FROM outbox ORDER BY pos"),
  atPlace: database.prepare("SELECT id, message, failures, sum FROM outbox WHERE pos = ?"),
  all: database.prepare("SELECT id, message, failures, sum FROM outbox ORDER BY pos"),
  letter: database.prepare("SELECT id, message, sum FROM letter WHERE id = ?"),
  letters: database.prepare("SELECT id, message, why, at, sum FROM letter ORDER BY pos LIMIT ?"),
  letterPlaces: database.prepare("SELECT pos, id FROM letter ORDER BY pos"),
  letterAtPlace: database.prepare("SELECT id, message, why, at, sum FROM letter WHERE pos = ?"),
  insertLetter: database.prepare("INSERT INTO letter(id, at, why, message, sum) VALUES(?,?,?,?,?)"),
  deleteLetter: database.prepare("DELETE FROM letter WHERE id = ?"),
  stored: database.prepare("SELECT message FROM outbox WHERE id = ?1 UNION ALL SELECT message FROM letter WHERE id = ?1"),
  everything: database.prepare("SELECT id, message, sum FROM outbox UNION ALL SELECT id, message, sum FROM letter"),
});

export class OutboxTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
  }

  has(id: string): boolean {
    return this.#sql.has.get(id) !== undefined;
  }

  add(message: Message, failures = 0): void {
    const written = JSON.stringify(message);
    this.#sql.insert.run(message.id, failures, written, crc32(written));
  }

  remove(id: string): void {
    this.#sql.delete.run(id);
  }

  /** See `Store.settle`. `at`: when it becomes a dead letter. */
  settle(id: string, how: "done" | "failed" | "dead", { why = "", answer }: OutboxAck, at: number): void {
    if (!this.has(id)) return;
    if (how === "dead") this.#sql.toLetter.run(at, why, id);
    if (how === "failed") this.#sql.countFailure.run(id);
    else this.remove(id);
    if (answer !== undefined) this.add(answer);
  }

  /** Returns a dead letter to the outbox. False: there is none of that id. */
  replay(id: string): boolean {
    const columns = this.#sql.letter.get(id);
    if (columns === undefined) return false;
    this.add(asReplay(messageIn(columns)));
    return this.drop(id);
  }

  /** Deletes a dead letter. False: there is none of that id. */
  drop(id: string): boolean {
    return this.#sql.deleteLetter.run(id).changes === 1;
  }

  /** See `Store.undelivered`. */
  undelivered(limit: number, onDamaged?: Damaged, except?: ReadonlySet<string>): readonly Undelivered[] {
    const { places, atPlace } = this.#sql;
    return page(places, atPlace, undeliveredIn, { limit, onDamaged, except });
  }

  letters(limit: number, onDamaged?: Damaged, except?: ReadonlySet<string>): readonly DeadLetter[] {
    const { letters, letterPlaces, letterAtPlace } = this.#sql;
    return except === undefined
      ? readableRows(limit, (count) => letters.all(count), letterIn, onDamaged && ((error) => onDamaged(error)))
      : page(letterPlaces, letterAtPlace, letterIn, { limit, onDamaged, except });
  }

  *everyUndelivered(): Generator<Undelivered> {
    for (const columns of this.#sql.all.iterate()) yield undeliveredIn(columns);
  }

  *everyLetter(): Generator<DeadLetter> {
    for (const columns of this.#sql.letters.iterate(-1)) yield letterIn(columns);
  }

  /** Adds an imported message. False: it is here already, waiting or dead. Throws `STORE_CONFLICT` where its id has another message. */
  import({ message, failures }: Undelivered): boolean {
    if (this.#isStored(message)) return false;
    this.add(message, failures);
    return true;
  }

  /** The same for a dead letter. */
  importLetter({ message, why, at }: DeadLetter): boolean {
    if (this.#isStored(message)) return false;
    const written = JSON.stringify(message);
    this.#sql.insertLetter.run(message.id, at, why, written, crc32(written));
    return true;
  }

  #isStored(message: Message): boolean {
    const found = this.#sql.stored.get(message.id);
    if (found === undefined) return false;
    if (found["message"] === JSON.stringify(message)) return true;
    throw new StoreError("STORE_CONFLICT", `Another message waits here under the id ${message.id}: import into another directory.`);
  }

  /** What is wrong with messages, dead letters included: at most `limit` sentences. */
  flaws(limit: number): readonly string[] {
    const found: string[] = [];
    for (const columns of this.#sql.everything.iterate()) {
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

interface PageOptions {
  readonly limit: number;
  readonly onDamaged: Damaged | undefined;
  readonly except: ReadonlySet<string> | undefined;
}

/** Reads the texts one by one, so that a page ends when it has grown large. */
function page<T>(places: StatementSync, atPlace: StatementSync, read: (columns: Columns) => T, options: PageOptions): readonly T[] {
  const { limit, onDamaged, except } = options;
  const found: T[] = [];
  let length = 0;
  for (const { pos, id } of places.iterate()) {
    if (found.length >= limit || length >= PAGE_LENGTH) break;
    if (except?.has(text(id)) === true) continue;
    const columns = atPlace.get(int(pos)) ?? {};
    try {
      found.push(read(columns));
      length += text(columns["message"]).length;
    } catch (error) {
      if (onDamaged === undefined || !(error instanceof StoreError)) throw error;
      onDamaged(error);
    }
  }
  return found;
}

const isMessage = (value: unknown): value is Message =>
  isJsonObject(value) &&
  typeof value["id"] === "string" &&
  typeof value["to"] === "string" &&
  typeof value["action"] === "string" &&
  "args" in value &&
  typeof value["at"] === "number" &&
  typeof value["seed"] === "string";

/** The checksum proves that the text is the one written, and what was written was a message; its main fields are checked all the same. */
function messageIn({ id, message, sum }: Columns): Message {
  if (typeof message !== "string" || crc32(message) !== sum) throw damaged(`message ${String(id)} was changed while it waited`);
  const value = parsed(message);
  if (!isMessage(value)) throw damaged("a message in the outbox is none");
  return value;
}

const undeliveredIn = (columns: Columns): Undelivered => ({ message: messageIn(columns), failures: int(columns["failures"]) });

const letterIn = (columns: Columns): DeadLetter => ({ message: messageIn(columns), why: text(columns["why"]), at: int(columns["at"]) });
