// Owns: C4, the first reply of each keyed call until it expires. Does not own: which calls have a key (core/engine).

import { crc32 } from "node:zlib";
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { type ActorId, isJsonObject, type KeyedCall, type Remembered, type Reply } from "../contract/index.ts";
import { damaged } from "./store-errors.ts";
import { actorId, int, parsed, text } from "./columns.ts";
import { MAX_CLAIMANTS } from "./rules.ts";

type Columns = Readonly<Record<string, SQLOutputValue>>;

const isReply = (value: unknown): value is Reply =>
  isJsonObject(value) && (Object.hasOwn(value, "ok") || Object.hasOwn(value, "refused") || Object.hasOwn(value, "needs"));

/** The call is not part of the sum where there is none: older versions stored only the reply. */
const sumOf = (call: string, written: string): number => crc32(call + written);

/** The stored reply of a call that will be answered later. */
const DUE = "";
/** Expired replies deleted in one transaction. */
const BATCH = 500;

const statements = (database: DatabaseSync) => ({
  insert: database.prepare(
    `INSERT INTO remembered(actor, key, call, until, reply, sum) VALUES(?,?,?,?,?,?)
     ON CONFLICT(actor, key) DO UPDATE SET call = excluded.call, until = excluded.until, reply = excluded.reply, sum = excluded.sum
     WHERE until <= ? OR reply = '${DUE}'`,
  ),
  select: database.prepare("SELECT call, reply, sum FROM remembered WHERE actor = ? AND key = ? AND until > ?"),
  deleteExpired: database.prepare(
    `DELETE FROM remembered WHERE (actor, key) IN (SELECT actor, key FROM remembered WHERE until <= ? LIMIT ${BATCH})`,
  ),
  claimants: database.prepare(
    `SELECT a.kind AS kind, a.key AS name FROM remembered r JOIN actor a ON a.id = r.actor
     WHERE r.key = ? AND r.until > ? ORDER BY r.until DESC LIMIT ${MAX_CLAIMANTS}`,
  ),
});

export class Replies {
  readonly #sql: ReturnType<typeof statements>;
  readonly #now: () => number;
  readonly #inOwnWrite: ((write: () => void) => void) | undefined;
  #deletedAt = 0;
  /** Replies added since then. */
  #added = 0;

  /**
   * `inOwnWrite` runs the deletion of expired replies as a write of its own, so that a damaged page among them fails no turn. Absent:
   * expired replies stay in the file.
   */
  constructor(database: DatabaseSync, now: () => number, inOwnWrite?: (write: () => void) => void) {
    this.#sql = statements(database);
    this.#now = now;
    this.#inOwnWrite = inOwnWrite;
  }

  /** Call within a transaction. A call without a reply is stored as still to be answered. */
  add(actor: number, { key, call, until, reply }: KeyedCall): void {
    const now = this.#now();
    const written = reply === undefined ? DUE : JSON.stringify(reply);
    this.#sql.insert.run(actor, key, call, until, written, sumOf(call, written), now);
    this.#added += 1;
    if (this.#inOwnWrite === undefined || (now - this.#deletedAt < 1_000 && now >= this.#deletedAt)) return;
    this.#deletedAt = now;
    // Up to twice as many as were added, or expired replies would accumulate.
    const batches = 1 + Math.ceil((2 * this.#added) / BATCH);
    this.#added = 0;
    this.#deleteBatch(this.#inOwnWrite, batches);
  }

  /** One batch for each write, so that no turn waits for all of them. */
  #deleteBatch(inOwnWrite: (write: () => void) => void, batches: number): void {
    inOwnWrite(() => {
      const { changes } = this.#sql.deleteExpired.run(this.#now());
      if (changes === BATCH && batches > 1) this.#deleteBatch(inOwnWrite, batches - 1);
    });
  }

  get(actor: number, key: string): Pick<Remembered, "call" | "reply"> | undefined {
    const columns = this.#sql.select.get(actor, key, this.#now());
    if (columns === undefined || columns["reply"] === DUE) return undefined;
    return { call: text(columns["call"]), reply: replyIn(columns) };
  }

  claimants(key: string): readonly ActorId[] {
    return this.#sql.claimants.all(key, this.#now()).map((columns) => actorId(columns["kind"], columns["name"]));
  }
}

function replyIn(columns: Columns): Reply {
  checkSum(columns);
  const reply = parsed(columns["reply"]);
  if (!isReply(reply)) throw damaged("a remembered reply is none");
  return reply;
}

function checkSum({ call, reply, sum }: Columns): void {
  if (sumOf(text(call), text(reply)) !== int(sum)) throw damaged("a remembered reply was changed");
}

/** A keyed call as it was received, with its reply unless that is due. */
export function keyedCallIn(columns: Columns): KeyedCall {
  const call = { key: text(columns["key"]), call: text(columns["call"]), until: int(columns["until"]) };
  if (columns["reply"] !== DUE) return { ...call, reply: replyIn(columns) };
  checkSum(columns);
  return call;
}
