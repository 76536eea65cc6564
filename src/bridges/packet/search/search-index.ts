// Owns: the open search index: recreating it, and finding and ranking texts in it. Does not own: writing rows (index-rows.ts).
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { ActorId } from "../../../core/contract/index.ts";
import { type SearchTerm, containedIn } from "../../../core/contract/internal.ts";
import { CorruptRow, openIndex } from "./index-file.ts";
import {
  SHARED,
  UNOWNED,
  type Range,
  IndexWriter,
  type TimeRange,
  ALL_OWNERS,
  big,
  compareDocTimes,
  int,
  principalText,
  rangeOf,
  splitActorId,
  text,
  wordsOf,
} from "./index-rows.ts";

/** The file with its reader and writer, which are replaced together. */
export class SearchIndex {
  readonly #file: string;
  readonly #purpose: string;
  readonly #kinds: readonly string[];
  #open: { readonly database: DatabaseSync; readonly writer: IndexWriter; readonly finder: Finder } | undefined;

  /** `purpose`: an index made for another one is recreated. Throws `StoreError`. */
  constructor(file: string, purpose: string, kinds: readonly string[]) {
    this.#file = file;
    this.#purpose = purpose;
    this.#kinds = kinds;
    this.#open = this.#opened(false);
  }

  /** Undefined: closed, or it could not be recreated. */
  get writer(): IndexWriter | undefined {
    return this.#open?.writer;
  }

  get finder(): Finder | undefined {
    return this.#open?.finder;
  }

  /** Replaces it by an empty index. Throws `StoreError`; then there is none until the next call. */
  recreate(): void {
    this.close();
    this.#open = this.#opened(true);
  }

  /** Removes deleted text from the WAL too. */
  truncateLog(): void {
    this.#open?.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.database.close();
  }

  #opened(recreate: boolean): { readonly database: DatabaseSync; readonly writer: IndexWriter; readonly finder: Finder } {
    const database = openIndex(this.#file, this.#purpose, recreate);
    try {
      return { database, writer: new IndexWriter(database, this.#kinds), finder: new Finder(database, this.#kinds) };
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** Of one owner's matches, only the newest are ranked: a frequent word would otherwise read all texts. */
const MAX_RANKED = 2_048;
/** Total length of the ranked texts in UTF-16 units, since they are read again. */
const MAX_RANKED_CHARS = 131_072;

export interface FindRequest extends TimeRange {
  readonly match: string;
  readonly terms: readonly SearchTerm[];
  readonly owner: string | undefined;
  /** Searches the texts of all owners. */
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
  /** Higher is better. */
  readonly rank: number;
}

const MATCHING = "words MATCH ? AND words.rowid BETWEEN ? AND ?";
const NEWEST = `ORDER BY words.rowid DESC LIMIT ${MAX_RANKED}`;

/** Finds the best matches among what an owner may see. */
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
    // Each owner gets the same number of candidates: what others write to shared actors must not displace the user's own matches.
    const candidates = this.#rangesOf(request).flatMap((range) => this.#candidates(this.#newest(match, range, request), limit));
    // Newest first: of equally good texts the newer one comes first.
    return rankByTerms(
      candidates.toSorted((one, other) => compareDocTimes(other.id, one.id)),
      terms,
    )
      .slice(0, limit)
      .map(({ id, rank }) => this.#found(id, rank));
  }

  /** Undefined: nothing of that kind or actor is indexed. */
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

  /** The owners whose texts are searched: shared ones, the user's own, and, if an actor is named, unowned ones. */
  #ownersOf({ owner, actor }: FindRequest): readonly number[] {
    const owners = actor === undefined ? [SHARED] : [SHARED, UNOWNED];
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
    return rows.map(({ id }) => big(id));
  }

  #candidates(ids: readonly bigint[], limit: number): readonly Candidate[] {
    const candidates: Candidate[] = [];
    let chars = 0;
    for (const id of ids) {
      if (chars >= MAX_RANKED_CHARS && candidates.length >= limit) break;
      const one = text(this.#text.get(id)?.["text"]);
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

/** A matching text, as words. */
export interface Candidate {
  readonly id: bigint;
  readonly words: string;
}

interface Ranked {
  readonly id: bigint;
  /** Higher is better. */
  readonly rank: number;
}

// BM25's usual constants: saturation of repeated words, and the penalty of long texts.
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

/**
 * Best first; the order of equally good ones stays. Only these texts count: FTS5's bm25() also weighs words by how many texts of all owners
 * contain them, which would reveal to each user what others write.
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
  // Adjacent matches share the space between them.
  for (let at = words.indexOf(mark); at >= 0; at = words.indexOf(mark, at + mark.length - 1)) times += 1;
  return times;
}
