// Owns: the rows of the search index: writing texts together with how far each history has been read, and the ids of texts.
//   Does not own: searching (search-index.ts).
import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId } from "../../../core/contract/index.ts";
import { searchableText } from "../../../core/contract/internal.ts";
import { CorruptRow } from "./index-file.ts";
import { splitFields } from "./searchable-fields.ts";

/** How far an actor's history has been read. */
export interface Cursor {
  readonly life: string;
  /** Undefined: the owner of that life is unknown, so none of it is indexed. */
  readonly owner: Owner | undefined;
  readonly seq: number;
  readonly head: string;
}

/** The cursor is ahead of the chain, or on another chain. */
export const isAhead = (read: Cursor, now: Pick<Cursor, "seq" | "head"> | undefined): boolean =>
  now !== undefined && (now.seq < read.seq || (now.seq === read.seq && now.head !== read.head));

/** The text of one event. */
export interface IndexedText {
  readonly seq: number;
  readonly at: number;
  readonly event: string;
  readonly text: string;
  readonly owner: Owner;
}

/** The changes to the index after reading an actor's history. */
export interface IndexUpdate {
  readonly id: ActorId;
  /** Remove everything indexed of the actor first. */
  readonly rebuild: boolean;
  /** Remove the texts from this event on first. */
  readonly replaceFrom?: number;
  /** Absent: the actor was removed. */
  readonly cursor?: Cursor;
  readonly docs: readonly IndexedText[];
}

type Columns = Readonly<Record<string, SQLOutputValue>>;

export function int(value: SQLOutputValue | undefined): number {
  if (typeof value === "number") return value;
  throw new CorruptRow("a number is missing");
}

export function text(value: SQLOutputValue | undefined): string {
  if (typeof value === "string") return value;
  throw new CorruptRow("a text is missing");
}

export function big(value: SQLOutputValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  throw new CorruptRow("an id is missing");
}

/** Writes texts and the cursor they came from, always in one transaction. */
export class IndexWriter {
  readonly #database: DatabaseSync;
  readonly #actor: StatementSync;
  readonly #put: StatementSync;
  readonly #drop: StatementSync;
  readonly #docs: StatementSync;
  readonly #dropDocs: StatementSync;
  readonly #forget: StatementSync;
  readonly #taken: StatementSync;
  readonly #doc: StatementSync;
  readonly #words: StatementSync;
  readonly #owner: StatementSync;
  readonly #addOwner: StatementSync;
  readonly #raiseDelay: StatementSync;
  readonly #page: StatementSync;
  readonly #kinds = new Map<string, number>();

  constructor(database: DatabaseSync, kinds: readonly string[]) {
    for (const [n, kind] of kinds.entries()) this.#kinds.set(kind, n);
    this.#database = database;
    this.#actor = database.prepare("SELECT * FROM actor WHERE kind = ? AND key = ?");
    this.#put = database.prepare(
      `INSERT INTO actor(kind, key, life, owner, seq, head) VALUES(?,?,?,?,?,?)
       ON CONFLICT(kind, key) DO UPDATE SET life = excluded.life, owner = excluded.owner, seq = excluded.seq, head = excluded.head RETURNING id`,
    );
    this.#drop = database.prepare("DELETE FROM actor WHERE id = ?");
    this.#docs = database.prepare("SELECT id, text FROM doc WHERE actor = ? AND seq >= ?");
    this.#docs.setReadBigInts(true);
    this.#dropDocs = database.prepare("DELETE FROM doc WHERE actor = ? AND seq >= ?");
    // Deletes with the words themselves: by rowid alone FTS5 would only mark the row as deleted and keep its words.
    this.#forget = database.prepare("INSERT INTO words(words, rowid, text, scope) VALUES('delete', ?, ?, ?)");
    this.#taken = database.prepare("SELECT 1 FROM doc WHERE id = ?");
    this.#doc = database.prepare("INSERT INTO doc VALUES(?,?,?,?,unhex(?),?)");
    this.#words = database.prepare("INSERT INTO words(rowid, text, scope) VALUES(?,?,?)");
    this.#owner = database.prepare("SELECT id FROM owner WHERE principal = ?");
    this.#addOwner = database.prepare("INSERT INTO owner(principal) VALUES(?) RETURNING id");
    this.#raiseDelay = database.prepare("UPDATE owner SET late = ?2 WHERE id = ?1 AND late < ?2");
    this.#page = database.prepare("SELECT key FROM actor WHERE kind = ? AND key > ? AND key <= ? ORDER BY key LIMIT ?");
    // The two owners that are not principals have rows too, for their largest delay.
    database.exec(`INSERT OR IGNORE INTO owner(id, principal) VALUES(${SHARED}, 'everybody'), (${UNOWNED}, 'nobody')`);
  }

  cursor(id: ActorId): Cursor | undefined {
    const columns = this.#actor.get(...splitActorId(id));
    if (columns === undefined) return undefined;
    const { life, owner, seq, head } = columns;
    return { life: text(life), owner: ownerIn(owner), seq: int(seq), head: text(head) };
  }

  /** Indexed keys of a kind, in text order, after `after` and up to `last`. */
  knownKeys(kind: string, after: string, last: string, limit: number): readonly string[] {
    return this.#page.all(kind, after, last, limit).map((columns) => text(columns["key"]));
  }

  /** One transaction. */
  write(updates: readonly IndexUpdate[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const words: [bigint, string, string][] = [];
      for (const update of updates) this.#apply(update, words);
      // FTS5 flushes when an id is smaller than the previous one. In sorted order it flushes once.
      words.sort(([one], [other]) => (one < other ? -1 : 1));
      for (const one of words) this.#words.run(...one);
      this.#database.exec("COMMIT");
    } finally {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
  }

  #apply({ id, rebuild, replaceFrom, cursor, docs }: IndexUpdate, words: [bigint, string, string][]): void {
    const [kind, key] = splitActorId(id);
    if (rebuild) this.#remove(kind, this.#actor.get(kind, key));
    else if (replaceFrom !== undefined) this.#removeDocs(kind, this.#actor.get(kind, key), replaceFrom);
    if (cursor === undefined) return;
    const { life, owner, seq, head } = cursor;
    const actor = int(this.#put.get(kind, key, life, ownerText(owner), seq, head)?.["id"]);
    const scope = this.#scope(kind, actor);
    for (const doc of docs) {
      const number = this.#number(doc.owner);
      const slot = freeDocId(number, doc.at, actor * 31 + doc.seq, (taken) => this.#taken.get(taken) !== undefined);
      if (slot.delay > 0) this.#raiseDelay.run(number, slot.delay);
      this.#doc.run(slot.id, actor, doc.seq, doc.at, doc.event, doc.text);
      words.push([slot.id, wordsOf(doc.text), scope]);
    }
  }

  #scope(kind: string, actor: number): string {
    return `k${this.#kinds.get(kind) ?? 0} a${actor}`;
  }

  #remove(kind: string, columns: Columns | undefined): void {
    if (columns === undefined) return;
    this.#removeDocs(kind, columns, 0);
    this.#drop.run(int(columns["id"]));
  }

  #removeDocs(kind: string, columns: Columns | undefined, replaceFrom: number): void {
    if (columns === undefined) return;
    const actor = int(columns["id"]);
    const scope = this.#scope(kind, actor);
    for (const doc of this.#docs.all(actor, replaceFrom)) this.#forget.run(big(doc["id"]), wordsOf(text(doc["text"])), scope);
    this.#dropDocs.run(actor, replaceFrom);
  }

  #number(owner: Owner): number {
    if (owner === "everybody") return SHARED;
    if (owner === "nobody") return UNOWNED;
    const principal = principalText(owner.principal);
    const id = int((this.#owner.get(principal) ?? this.#addOwner.get(principal))?.["id"]);
    if (id > MAX_OWNERS)
      throw new Error(`the texts of ${MAX_OWNERS} principals are in it: rebuild it, so that those who are gone leave it`);
    return id;
  }
}

/** The indexed words of a text. Must be deterministic, or deleting a text would not remove the words that were added. */
export const wordsOf = (value: string): string => searchableText(splitFields(value).map((field) => field.text));

/** The prefix distinguishes principals from the two owners that are not. */
export const principalText = (principal: string): string => `=${principal}`;

const ownerText = (owner: Owner | undefined): string | null =>
  owner === undefined ? null : typeof owner === "string" ? owner : principalText(owner.principal);

function ownerIn(value: SQLOutputValue | undefined): Owner | undefined {
  if (value === null) return undefined;
  const owner = text(value);
  if (owner === "everybody" || owner === "nobody") return owner;
  return { principal: owner.slice(1) };
}

export function splitActorId(id: ActorId): readonly [kind: string, key: string] {
  const slash = id.indexOf("/");
  return [id.slice(0, slash), id.slice(slash + 1)];
}

/** Who may find what an actor holds. `nobody`: it has an unknown owner; callers who know its key may search it. */
export type Owner = { readonly principal: string } | "everybody" | "nobody";

/** A doc's id: 22 bits for its owner, 41 for its time in milliseconds since 2020. */
const TIME_BITS = 41n;
const LAST_TIME = 2 ** 41 - 1;
const EPOCH = 1_577_836_800_000;
const MAX_OWNERS = 2 ** 22 - 1;

/** Owners that are not principals. */
export const SHARED = 0;
export const UNOWNED = 1;

const slotOf = (at: number): number => Math.min(LAST_TIME, Math.max(0, Math.floor(at) - EPOCH));
const idOf = (owner: number, slot: number): bigint => (BigInt(owner) << TIME_BITS) | BigInt(Math.min(LAST_TIME, slot));

/** A free id for a text of that time: its own slot, or a later one. `seed` spreads texts that compete for slots. */
function freeDocId(
  owner: number,
  at: number,
  seed: number,
  taken: (id: bigint) => boolean,
): { readonly id: bigint; readonly delay: number } {
  const slot = slotOf(at);
  // Doubles the reach with each step: with thousands of texts at once, single steps would visit all of them.
  for (let reach = 1, delay = 0; ; delay = reach + (hash(seed + reach) % reach), reach *= 2) {
    const id = slot + delay <= LAST_TIME ? idOf(owner, slot + delay) : idOf(owner, LAST_TIME - delay);
    if (!taken(id)) return { id, delay };
  }
}

function hash(value: number): number {
  const word = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  return (word ^ (word >>> 15)) >>> 0;
}

export type Range = readonly [first: bigint, last: bigint];

/** The texts of all owners. */
export const ALL_OWNERS: Range = [0n, idOf(MAX_OWNERS, LAST_TIME)];

/** The ids of an owner's texts from `after` to before `before`. `delay`: the largest delay of a text's slot after its time. */
export const rangeOf = (owner: number, { after, before }: TimeRange, delay: number): Range => [
  idOf(owner, after === undefined ? 0 : slotOf(after)),
  idOf(owner, before === undefined ? LAST_TIME : slotOf(before) + delay),
];

/** Milliseconds since 1970: from `after`, to before `before`. */
export interface TimeRange {
  readonly after?: number;
  readonly before?: number;
}

/** Negative if `one` is earlier, regardless of owners. */
export const compareDocTimes = (one: bigint, other: bigint): number => Number(BigInt.asUintN(41, one) - BigInt.asUintN(41, other));
