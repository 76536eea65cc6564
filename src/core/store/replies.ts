import { crc32 } from "node:zlib";
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import { isBag, type ActorId, type Json, type KeyedCall, type Remembered, type Reply } from "../contract/index.ts";
import { actorId, damaged, int, parsed, text } from "./column.ts";

const isReply = (value: unknown): value is Reply =>
  isBag(value) && (Object.hasOwn(value, "ok") || Object.hasOwn(value, "refused") || Object.hasOwn(value, "needs"));

type Claim = Omit<Remembered, "reply">;

/** Without a call, as it was before one was kept. */
const sumOf = (call: string, written: string): number => crc32(call + written);

// Of a call that was told "later": its reply is due.
const DUE = "";
const MOST_CLAIMANTS = 100;
/** Forgotten in one go. */
const BATCH = 500;

/** C4: the first reply of a keyed call, until it expires. */
export class Replies {
  readonly #insert: StatementSync;
  readonly #select: StatementSync;
  readonly #forget: StatementSync;
  readonly #claimants: StatementSync;
  readonly #now: () => number;
  readonly #aside: ((write: () => void) => void) | undefined;
  #forgotAt = 0;
  /** Remembered since. */
  #added = 0;

  /**
   * `aside` runs what forgets those that expired, within a transaction of nobody's turn: a damaged page among them must not fail
   * one. Absent: they stay.
   */
  constructor(database: DatabaseSync, now: () => number, aside?: (write: () => void) => void) {
    this.#now = now;
    this.#aside = aside;
    this.#insert = database.prepare(
      `INSERT INTO remembered(actor, key, call, until, reply, sum) VALUES(?,?,?,?,?,?)
       ON CONFLICT(actor, key) DO UPDATE SET call = excluded.call, until = excluded.until, reply = excluded.reply, sum = excluded.sum
       WHERE until <= ? OR reply = '${DUE}'`,
    );
    this.#select = database.prepare("SELECT call, reply, sum FROM remembered WHERE actor = ? AND key = ? AND until > ?");
    this.#claimants = database.prepare(
      `SELECT a.kind AS kind, a.key AS name FROM remembered r JOIN actor a ON a.id = r.actor
       WHERE r.key = ? AND r.until > ? ORDER BY r.until DESC LIMIT ${MOST_CLAIMANTS}`,
    );
    this.#forget = database.prepare(
      `DELETE FROM remembered WHERE (actor, key) IN (SELECT actor, key FROM remembered WHERE until <= ? LIMIT ${BATCH})`,
    );
  }

  add(actor: number, kept: Remembered): void {
    this.#add(actor, kept, JSON.stringify(kept.reply));
  }

  claim(actor: number, claim: Claim): void {
    this.#add(actor, claim, DUE);
  }

  claimants(key: string): readonly ActorId[] {
    return this.#claimants.all(key, this.#now()).map((columns) => actorId(columns["kind"], columns["name"]));
  }

  #add(actor: number, { key, call, until }: Claim, written: string): void {
    const now = this.#now();
    this.#insert.run(actor, key, call, until, written, sumOf(call, written), now);
    this.#added += 1;
    if (this.#aside === undefined || (now - this.#forgotAt < 1_000 && now >= this.#forgotAt)) return;
    this.#forgotAt = now;
    // Twice as many as came, or what has expired would grow for ever where more come.
    const batches = 1 + Math.ceil((2 * this.#added) / BATCH);
    this.#added = 0;
    this.#forgetSome(this.#aside, batches);
  }

  // A little at a time, so that no turn waits for all of them.
  #forgetSome(aside: (write: () => void) => void, batches: number): void {
    aside(() => {
      const { changes } = this.#forget.run(this.#now());
      if (changes === BATCH && batches > 1) this.#forgetSome(aside, batches - 1);
    });
  }

  get(actor: number, key: string): Pick<Remembered, "call" | "reply"> | undefined {
    const columns = this.#select.get(actor, key, this.#now());
    if (columns === undefined || columns["reply"] === DUE) return undefined;
    return { call: text(columns["call"]), reply: replyIn(columns) };
  }
}

function replyIn(columns: Readonly<Record<string, SQLOutputValue>>): Reply {
  checkSum(columns);
  const reply: Json = parsed(columns["reply"]);
  if (!isReply(reply)) throw damaged("a remembered reply is none");
  return reply;
}

function checkSum({ call, reply, sum }: Readonly<Record<string, SQLOutputValue>>): void {
  if (sumOf(text(call), text(reply)) !== int(sum)) throw damaged("a remembered reply was changed");
}

/** A keyed call as it was taken, with or without a reply. */
export function callIn(columns: Readonly<Record<string, SQLOutputValue>>): KeyedCall {
  const call = { key: text(columns["key"]), call: text(columns["call"]), until: int(columns["until"]) };
  if (columns["reply"] !== DUE) return { ...call, reply: replyIn(columns) };
  checkSum(columns);
  return call;
}
