import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId } from "../../../core/contract/index.ts";
import { searchableText } from "../../../core/contract/internal.ts";
import { CorruptRow } from "./index-file.ts";
import { splitFields } from "./searchable-fields.ts";

/** How far an actor's history has been read. */
export interface Cursor {
  readonly life: string;
  /** Undefined: it cannot be told whose that life is, so nothing of it is kept. */
  readonly owner: Owner | undefined;
  readonly seq: number;
  readonly head: string;
}

/** What was read is more than there is now, or is another chain. */
export const isAhead = (read: Cursor, now: Pick<Cursor, "seq" | "head"> | undefined): boolean =>
  now !== undefined && (now.seq < read.seq || (now.seq === read.seq && now.head !== read.head));

/** A text for the index. */
export interface IndexedText {
  readonly seq: number;
  readonly at: number;
  readonly event: string;
  readonly text: string;
  readonly owner: Owner;
}

/** What one look at an actor's history brought. */
export interface IndexUpdate {
  readonly id: ActorId;
  /** All that was known of it goes first. */
  readonly rebuild: boolean;
  /** The texts from this event on go first. */
  readonly replaceFrom?: number;
  /** Absent: it is gone. */
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

function big(value: SQLOutputValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  throw new CorruptRow("an id is missing");
}

/** Writes: rows of texts and the place in the history they came from, always together. */
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
    // With the words themselves: by its number alone FTS5 would only mark a row as gone, and keep its words.
    this.#forget = database.prepare("INSERT INTO words(words, rowid, text, scope) VALUES('delete', ?, ?, ?)");
    this.#taken = database.prepare("SELECT 1 FROM doc WHERE id = ?");
    this.#doc = database.prepare("INSERT INTO doc VALUES(?,?,?,?,unhex(?),?)");
    this.#words = database.prepare("INSERT INTO words(rowid, text, scope) VALUES(?,?,?)");
    this.#owner = database.prepare("SELECT id FROM owner WHERE principal = ?");
    this.#addOwner = database.prepare("INSERT INTO owner(principal) VALUES(?) RETURNING id");
    this.#raiseDelay = database.prepare("UPDATE owner SET late = ?2 WHERE id = ?1 AND late < ?2");
    this.#page = database.prepare("SELECT key FROM actor WHERE kind = ? AND key > ? AND key <= ? ORDER BY key LIMIT ?");
    // The two that are no principal are rows too, for how late their texts are.
    database.exec(`INSERT OR IGNORE INTO owner(id, principal) VALUES(${EVERYBODY}, 'everybody'), (${NOBODY}, 'nobody')`);
  }

  cursor(id: ActorId): Cursor | undefined {
    const columns = this.#actor.get(...splitActorId(id));
    if (columns === undefined) return undefined;
    const { life, owner, seq, head } = columns;
    return { life: text(life), owner: ownerIn(owner), seq: int(seq), head: text(head) };
  }

  /** Keys of a kind that are known, in order, after one and up to another, both in their order as text. */
  knownKeys(kind: string, after: string, last: string, limit: number): readonly string[] {
    return this.#page.all(kind, after, last, limit).map((columns) => text(columns["key"]));
  }

  /** All or nothing. */
  write(updates: readonly IndexUpdate[]): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const words: [bigint, string, string][] = [];
      for (const update of updates) this.#apply(update, words);
      // A smaller id than the last one makes FTS5 write what it has gathered: in order, that is once.
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
    if (owner === "everybody") return EVERYBODY;
    if (owner === "nobody") return NOBODY;
    const principal = principalText(owner.principal);
    const id = int((this.#owner.get(principal) ?? this.#addOwner.get(principal))?.["id"]);
    if (id > MAX_OWNERS)
      throw new Error(`the texts of ${MAX_OWNERS} principals are in it: rebuild it, so that those who are gone leave it`);
    return id;
  }
}

/** As it is found: the same of a text each time, or what is taken out again would not be what was put in. */
export const wordsOf = (value: string): string => searchableText(splitFields(value).map((field) => field.text));

/** Apart from the two that are none. */
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

/** Who may find what an actor holds. `nobody`: it is some starter's, of whom nothing is known; who knows its key may look in it. */
export type Owner = { readonly principal: string } | "everybody" | "nobody";

/** A doc's id: 22 bits for its owner, 41 for its time in milliseconds since 2020. */
const TIME_BITS = 41n;
const LAST_TIME = 2 ** 41 - 1;
const EPOCH = 1_577_836_800_000;
const MAX_OWNERS = 2 ** 22 - 1;

/** Owners that are no principal. */
export const EVERYBODY = 0;
export const NOBODY = 1;

const slotOf = (at: number): number => Math.min(LAST_TIME, Math.max(0, Math.floor(at) - EPOCH));
const idOf = (owner: number, slot: number): bigint => (BigInt(owner) << TIME_BITS) | BigInt(Math.min(LAST_TIME, slot));

/** An id for a text of that time: its own, or where that is taken one soon after. `salt` tells apart those that look for one at the same time. */
function freeDocId(
  owner: number,
  at: number,
  seed: number,
  taken: (id: bigint) => boolean,
): { readonly id: bigint; readonly delay: number } {
  const slot = slotOf(at);
  // Twice as far with each step: where thousands came at once, one by one would be a walk along all of them.
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

/** Where an owner's texts from `after` to before `before` lie; `late` is how much later than its time a text of that owner lies at most. */
export const rangeOf = (owner: number, { after, before }: TimeRange, delay: number): Range => [
  idOf(owner, after === undefined ? 0 : slotOf(after)),
  idOf(owner, before === undefined ? LAST_TIME : slotOf(before) + delay),
];

/** Milliseconds since 1970: not earlier than `after`, earlier than `before`. */
export interface TimeRange {
  readonly after?: number;
  readonly before?: number;
}

/** Before 0: `one` is of an earlier time, whoever's it is. */
export const compareDocTimes = (one: bigint, other: bigint): number => Number(BigInt.asUintN(41, one) - BigInt.asUintN(41, other));
