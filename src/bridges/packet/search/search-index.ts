import type { DatabaseSync, SQLOutputValue, StatementSync } from "node:sqlite";
import type { ActorId } from "../../../core/contract/index.ts";
import { type SearchTerm, containedIn } from "../../../core/contract/internal.ts";
import { CorruptRow, openIndex } from "./index-file.ts";
import {
  EVERYBODY,
  NOBODY,
  type Range,
  IndexWriter,
  type TimeRange,
  ALL_OWNERS,
  compareDocTimes,
  int,
  principalText,
  rangeOf,
  splitActorId,
  text,
  wordsOf,
} from "./index-rows.ts";

/** The file and what reads and writes it: thrown away and made anew together. */
export class SearchIndex {
  readonly #file: string;
  readonly #purpose: string;
  readonly #kinds: readonly string[];
  #open: { readonly database: DatabaseSync; readonly rows: IndexWriter; readonly finder: Finder } | undefined;

  /** `purpose`: an index made for another one is made anew. Throws `StoreError`. */
  constructor(file: string, purpose: string, kinds: readonly string[]) {
    this.#file = file;
    this.#purpose = purpose;
    this.#kinds = kinds;
    this.#open = this.#opened(false);
  }

  /** Undefined: it is closed, or could not be made anew so far. */
  get rows(): IndexWriter | undefined {
    return this.#open?.rows;
  }

  get finder(): Finder | undefined {
    return this.#open?.finder;
  }

  /** Empty again, whatever is in it. Throws `StoreError`: then there is none until this is called again. */
  recreate(): void {
    this.close();
    this.#open = this.#opened(true);
  }

  /** What was taken out is in the log no more either. */
  truncateLog(): void {
    this.#open?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.database.close();
  }

  #opened(recreate: boolean): { readonly database: DatabaseSync; readonly rows: IndexWriter; readonly finder: Finder } {
    const database = openIndex(this.#file, this.#purpose, recreate);
    try {
      return { database, rows: new IndexWriter(database, this.#kinds), finder: new Finder(database, this.#kinds) };
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** Of one owner's matches the newest are ranked: a word that is everywhere would take as long as all texts together. */
const MAX_RANKED = 2_048;
/** Of their texts, in UTF-16 units: they are read again to be ranked. */
const MAX_RANKED_CHARS = 131_072;

export interface FindRequest extends TimeRange {
  readonly match: string;
  readonly terms: readonly SearchTerm[];
  readonly owner: string | undefined;
  /** Those of all owners. */
  readonly everyone?: true;
  readonly kind?: string;
  readonly actor?: ActorId;
  readonly limit: number;
}

export interface FoundEvent {
  readonly actor: ActorId;
  readonly seq: number;
  readonly event: string;
  readonly at: number;
  readonly text: string;
  /** The more the better. */
  readonly rank: number;
}

const MATCHING = "words MATCH ? AND words.rowid BETWEEN ? AND ?";
const NEWEST = `ORDER BY words.rowid DESC LIMIT ${MAX_RANKED}`;

/** Reads: the best matches in what an owner may see. */
export class Finder {
  readonly #kinds = new Map<string, number>();
  readonly #actor: StatementSync;
  readonly #owner: StatementSync;
  readonly #maxDelay: StatementSync;
  readonly #all: StatementSync;
  readonly #timed: StatementSync;
  readonly #text: StatementSync;
  readonly #doc: StatementSync;

  constructor(database: DatabaseSync, kinds: readonly string[]) {
    for (const [n, kind] of kinds.entries()) this.#kinds.set(kind, n);
    this.#actor = database.prepare("SELECT id FROM actor WHERE kind = ? AND key = ?");
    this.#owner = database.prepare("SELECT id FROM owner WHERE principal = ?");
    this.#maxDelay = database.prepare("SELECT late FROM owner WHERE id = ?");
    this.#all = database.prepare(`SELECT words.rowid AS id FROM words WHERE ${MATCHING} ${NEWEST}`);
    this.#timed = database.prepare(
      `SELECT words.rowid AS id FROM words CROSS JOIN doc ON doc.id = words.rowid WHERE ${MATCHING} AND doc.at >= ? AND doc.at < ? ${NEWEST}`,
    );
    this.#all.setReadBigInts(true);
    this.#timed.setReadBigInts(true);
    this.#text = database.prepare("SELECT text FROM doc WHERE id = ?");
    this.#doc = database.prepare(
      "SELECT kind, key, doc.seq, at, lower(hex(event)) AS event, text FROM doc JOIN actor ON actor.id = doc.actor WHERE doc.id = ?",
    );
  }

  find(request: FindRequest): readonly FoundEvent[] {
    const scope = this.#scope(request);
    if (scope === undefined) return [];
    const match = scope + request.match;
    const { terms, limit } = request;
    // Of each owner as many: what others write to shared actors must not take the place of one's own.
    const candidates = this.#rangesOf(request).flatMap((range) => this.#candidates(this.#newest(match, range, request), limit));
    // Newest first, of all owners: of two texts as good as each other the newer one comes first.
    return rankByTerms(
      candidates.toSorted((one, other) => compareDocTimes(other.id, one.id)),
      terms,
    )
      .slice(0, limit)
      .map(({ id, rank }) => this.#found(id, rank));
  }

  /** Undefined: there is nothing there. */
  #scope({ kind, actor }: FindRequest): string | undefined {
    const scope: string[] = [];
    if (kind !== undefined) {
      const number = this.#kinds.get(kind);
      if (number === undefined) return undefined;
      scope.push(`{scope} : "k${number}" AND `);
    }
    if (actor !== undefined) {
      const columns = this.#actor.get(...splitActorId(actor));
      if (columns === undefined) return undefined;
      scope.push(`{scope} : "a${int(columns["id"])}" AND `);
    }
    return scope.join("");
  }

  /** Whose texts are looked through: what is everybody's, one's own, and where an actor is named, what is nobody's. */
  #ownersOf({ owner, actor }: FindRequest): readonly number[] {
    const owners = actor === undefined ? [EVERYBODY] : [EVERYBODY, NOBODY];
    const own = owner === undefined ? undefined : this.#owner.get(principalText(owner));
    return own === undefined ? owners : [...owners, int(own["id"])];
  }

  #rangesOf(request: FindRequest): readonly Range[] {
    if (request.everyone === true) return [ALL_OWNERS];
    const maxDelay = (owner: number): number => (request.before === undefined ? 0 : int(this.#maxDelay.get(owner)?.["late"] ?? 0));
    return this.#ownersOf(request).map((owner) => rangeOf(owner, request, maxDelay(owner)));
  }

  #newest(match: string, range: Range, { after, before }: FindRequest): readonly bigint[] {
    const rows =
      after === undefined && before === undefined
        ? this.#all.all(match, ...range)
        : this.#timed.all(match, ...range, after ?? Number.MIN_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER);
    return rows.map(({ id }) => bigintOf(id));
  }

  #candidates(ids: readonly bigint[], limit: number): readonly Candidate[] {
    const candidates: Candidate[] = [];
    let chars = 0;
    for (const id of ids) {
      if (chars >= MAX_RANKED_CHARS && candidates.length >= limit) break;
      const columns = this.#text.get(id);
      if (columns === undefined) throw new CorruptRow("a text is missing");
      const one = text(columns["text"]);
      chars += one.length;
      candidates.push({ id, words: wordsOf(one) });
    }
    return candidates;
  }

  #found(id: bigint, rank: number): FoundEvent {
    const columns = this.#doc.get(id);
    if (columns === undefined) throw new CorruptRow("a text is missing");
    const { kind, key, seq, at, event, text: docText } = columns;
    return { actor: `${text(kind)}/${text(key)}`, seq: int(seq), at: int(at), event: text(event), text: text(docText), rank };
  }
}

function bigintOf(value: SQLOutputValue | undefined): bigint {
  if (typeof value === "bigint") return value;
  throw new CorruptRow("an id is missing");
}

/** A text that matches, as words. */
export interface Candidate {
  readonly id: bigint;
  readonly words: string;
}

interface Ranked {
  readonly id: bigint;
  /** The more the better. */
  readonly rank: number;
}

// BM25's usual constants: how soon more of a word counts no more, and how much a long text counts less.
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * The best first; of two as good as each other the order stays. By these texts alone: FTS5's bm25() also weighs words by how many texts
 * of all owners have them, and so would show each user what the others write.
 */
function rankByTerms(candidates: readonly Candidate[], terms: readonly SearchTerm[]): readonly Ranked[] {
  const average = candidates.reduce((sum, { words }) => sum + words.length, 0) / candidates.length;
  const marks = terms.map(containedIn);
  return candidates
    .map(({ id, words }) => {
      const damping = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * words.length) / average);
      const rank = marks.reduce((sum, mark) => {
        const times = occurrences(words, mark);
        return sum + times / (times + damping);
      }, 0);
      return { id, rank };
    })
    .toSorted((one, other) => other.rank - one.rank);
}

function occurrences(words: string, mark: string): number {
  let times = 0;
  // Two words that follow each other share the space between them.
  for (let at = words.indexOf(mark); at >= 0; at = words.indexOf(mark, at + mark.length - 1)) times += 1;
  return times;
}
