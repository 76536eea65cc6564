import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId } from "../../../core/contract/index.ts";
import { Unreadable } from "./index-file.ts";
import { compareTimes, EVERYBODY, NOBODY, type Range, rangeOf, type Times, WHOLE } from "./place.ts";
import { int, principalText, split, text } from "./rows.ts";

/** Of one owner's matches the newest are ranked: a word that is everywhere would take as long as all texts together. */
const RANKED = 2_048;

export interface Wanted extends Times {
  readonly match: string;
  readonly owner: string | undefined;
  /** Those of all owners. */
  readonly everyone?: true;
  readonly kind?: string;
  readonly actor?: ActorId;
  readonly limit: number;
}

export interface Found {
  readonly actor: ActorId;
  readonly seq: number;
  readonly event: string;
  readonly at: number;
  readonly text: string;
  /** The less the better. */
  readonly rank: number;
}

interface Ranked {
  readonly id: bigint;
  readonly rank: number;
}

const RANK = "bm25(words, 1.0, 0.0) AS score";
const NEWEST = `ORDER BY words.rowid DESC LIMIT ${RANKED}`;
const best = (newest: string): string => `SELECT id, score FROM (${newest}) ORDER BY score, id DESC LIMIT ?`;

/** Reads: the best matches in what an owner may see. */
export class Finder {
  readonly #kinds = new Map<string, number>();
  readonly #actor: StatementSync;
  readonly #owner: StatementSync;
  readonly #late: StatementSync;
  readonly #all: StatementSync;
  readonly #timed: StatementSync;
  readonly #doc: StatementSync;

  constructor(database: DatabaseSync, kinds: readonly string[]) {
    for (const [n, kind] of kinds.entries()) this.#kinds.set(kind, n);
    this.#actor = database.prepare("SELECT id FROM actor WHERE kind = ? AND key = ?");
    this.#owner = database.prepare("SELECT id FROM owner WHERE principal = ?");
    this.#late = database.prepare("SELECT late FROM owner WHERE id = ?");
    this.#all = database.prepare(
      best(`SELECT words.rowid AS id, ${RANK} FROM words WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? ${NEWEST}`),
    );
    this.#timed = database.prepare(
      best(
        `SELECT words.rowid AS id, ${RANK} FROM words CROSS JOIN doc ON doc.id = words.rowid WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? AND doc.at >= ? AND doc.at < ? ${NEWEST}`,
      ),
    );
    this.#all.setReadBigInts(true);
    this.#timed.setReadBigInts(true);
    this.#doc = database.prepare(
      "SELECT kind, key, doc.seq, at, lower(hex(event)) AS event, text FROM doc JOIN actor ON actor.id = doc.actor WHERE doc.id = ?",
    );
  }

  find(wanted: Wanted): readonly Found[] {
    const scope = this.#scope(wanted);
    if (scope === undefined) return [];
    const match = scope + wanted.match;
    const found = this.#rangesOf(wanted).flatMap((range) => this.#ranked(match, range, wanted));
    // Two texts as good as each other: the newer one first, whoever's it is.
    return found
      .toSorted((one, other) => one.rank - other.rank || compareTimes(other.id, one.id))
      .slice(0, wanted.limit)
      .map(({ id, rank }) => this.#found(id, rank));
  }

  /** Undefined: there is nothing there. */
  #scope({ kind, actor }: Wanted): string | undefined {
    const scope: string[] = [];
    if (kind !== undefined) {
      const number = this.#kinds.get(kind);
      if (number === undefined) return undefined;
      scope.push(`{scope} : "k${number}" AND `);
    }
    if (actor !== undefined) {
      const columns = this.#actor.get(...split(actor));
      if (columns === undefined) return undefined;
      scope.push(`{scope} : "a${int(columns["id"])}" AND `);
    }
    return scope.join("");
  }

  /** Whose texts are looked through: what is everybody's, one's own, and where an actor is named, what is nobody's. */
  #ownersOf({ owner, actor }: Wanted): readonly number[] {
    const owners = actor === undefined ? [EVERYBODY] : [EVERYBODY, NOBODY];
    const own = owner === undefined ? undefined : this.#owner.get(principalText(owner));
    return own === undefined ? owners : [...owners, int(own["id"])];
  }

  #rangesOf(wanted: Wanted): readonly Range[] {
    if (wanted.everyone === true) return [WHOLE];
    const late = (owner: number): number => (wanted.before === undefined ? 0 : int(this.#late.get(owner)?.["late"] ?? 0));
    return this.#ownersOf(wanted).map((owner) => rangeOf(owner, wanted, late(owner)));
  }

  #ranked(match: string, range: Range, { limit, after, before }: Wanted): readonly Ranked[] {
    const rows =
      after === undefined && before === undefined
        ? this.#all.all(match, ...range, limit)
        : this.#timed.all(match, ...range, after ?? Number.MIN_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER, limit);
    return rows.map(({ id, score }) => ({ id: bigintOf(id), rank: real(score) }));
  }

  #found(id: bigint, rank: number): Found {
    const columns = this.#doc.get(id);
    if (columns === undefined) throw new Unreadable("a text is missing");
    const { kind, key, seq, at, event, text: kept } = columns;
    return { actor: `${text(kind)}/${text(key)}`, seq: int(seq), at: int(at), event: text(event), text: text(kept), rank };
  }
}

function bigintOf(value: SQLOutputValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  throw new Unreadable("an id is missing");
}

function real(value: SQLOutputValue | undefined): number {
  if (typeof value === "number") return value;
  throw new Unreadable("a rank is missing");
}
