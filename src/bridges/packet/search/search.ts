// Owns: `searchIndex`: full-text search over the messages and replies of actors, its queries and snippets.
//   Does not own: following the chains (follower.ts), finding and ranking (search-index.ts).
import {
  type ActorId,
  checkOptions,
  type Clock,
  type Closable,
  type Engine,
  EngineError,
  FUNCTION,
  type OptionTable,
  systemClock,
  TroupeError,
} from "../../../core/contract/index.ts";
import {
  cutText,
  ftsQuery,
  omitUndefined,
  type PlacedWord,
  placedWords,
  type SearchTerm,
  searchTerms,
  TEXT,
} from "../../../core/contract/internal.ts";
import { PacketError } from "../packet.ts";
import { Follower } from "./follower.ts";
import type { IndexedKind } from "./history-reader.ts";
import { isDamage } from "./index-file.ts";
import { type TimeRange, splitActorId } from "./index-rows.ts";
import { type FoundEvent, SearchIndex } from "./search-index.ts";
import { SearchableFields, type FieldText, type SearchKind, splitFields } from "./searchable-fields.ts";

/** Options of `searchIndex`. */
export interface SearchIndexOptions {
  readonly engine: Engine;
  /** The file of the index, created with its directory if absent; `:memory:` for none. May be deleted at any time. */
  readonly file: string;
  readonly kinds: readonly SearchKind[];
  readonly clock?: Clock;
  /** Limit on the text of one event; longer text is cut. Default 16,384 UTF-16 units, at most 1,048,576. */
  readonly maxChars?: number;
  /** Receives failures that no caller sees: an actor whose history cannot be read, a file that failed. Default: ignored. */
  readonly onFault?: (error: unknown, actor?: ActorId) => void;
}

/** Options of a full-text query. */
export interface SearchOptions extends TimeRange {
  /** The principal that searches: it finds its own actors and shared ones. Undefined: only shared ones. */
  readonly owner: string | undefined;
  /** For operators: the actors of all owners. */
  readonly everyone?: true;
  readonly kind?: string;
  /** Only this actor. Actors without a known owner are found only this way. */
  readonly actor?: ActorId;
  /** 1–50. Default 10. */
  readonly limit?: number;
  /** Length of each snippet in UTF-16 units, 20–2,000. Default 240. */
  readonly snippetChars?: number;
}

/** An event that contains all terms of the query. */
export interface Hit {
  readonly actor: ActorId;
  readonly seq: number;
  /** The event's id. */
  readonly event: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The declared field with most of the terms: `payload:message`, `result:notes.*.text`. */
  readonly field: string;
  /** The text around the first match: plain, on one line, with "…" where it is cut. */
  readonly snippet: string;
  /** Relative to the best hit, which has 1. */
  readonly score: number;
}

/** The messages and replies of actors, searchable: a projection of their chains, slightly behind them. */
export interface Search extends Closable {
  /**
   * The best hits first; of equally good ones the newest. Throws `PacketError`: `validation_failed` for an invalid query,
   * `persistence_failed` while the index is being recreated.
   */
  search(query: string, options: SearchOptions): Promise<readonly Hit[]>;
  /**
   * Resolves when the event and all earlier ones of that actor are searchable; without an actor, when all reported changes are.
   * Throws `PacketError`: `persistence_failed` after `withinMs` (default 10,000), `cancelled` if the index is closed.
   */
  caughtUp(actor?: ActorId, seq?: number, withinMs?: number): Promise<void>;
  /**
   * Reindexes one actor, or all. Erased bodies are then neither found nor left in the file. Of an actor in memory only the last event remains.
   * Resolves when done.
   */
  rebuild(actor?: ActorId): Promise<void>;
  /** Actors that are not fully indexed, plus one while the initial scan runs. 0: none. */
  readonly lag: number;
}

const DEFAULT_CHARS = 16_384;
const MAX_CHARS = 1_048_576;
const DEFAULT_WAIT_MS = 10_000;
const DEFAULT_HITS = 10;
const MAX_HITS = 50;
const DEFAULT_SNIPPET_CHARS = 240;

const OPTIONS: OptionTable<SearchIndexOptions> = {
  engine: true,
  file: TEXT,
  kinds: true,
  clock: true,
  maxChars: true,
  onFault: FUNCTION,
};

/** Follows the engine until it is disposed of; does not dispose of the engine. Throws `StoreError` for its file, `BAD_DEFINITION` for its fields. */
export function searchIndex(options: SearchIndexOptions): Search {
  checkOptions("searchIndex", options, OPTIONS);
  const { engine, file, clock = systemClock, maxChars = DEFAULT_CHARS, onFault } = options;
  if (!Number.isInteger(maxChars) || maxChars < 1 || maxChars > MAX_CHARS)
    throw new TroupeError("BAD_DEFINITION", `Search: maxChars is ${maxChars}, not from 1 to ${MAX_CHARS}.`);
  // Sorted, since kinds are numbered in the file.
  const specs = options.kinds.toSorted((one, other) => (one.kind < other.kind ? -1 : 1));
  const kinds = new Map<string, IndexedKind>();
  for (const spec of specs) {
    if (kinds.has(spec.kind)) throw new TroupeError("BAD_DEFINITION", `Search: ${spec.kind} is named twice. Put all its fields into one.`);
    kinds.set(spec.kind, { spec, fields: new SearchableFields(spec, maxChars) });
  }
  const purpose = JSON.stringify([maxChars, specs.map(({ kind, policy, fields }) => [kind, policy.owner, policy.persistence, fields])]);
  const index = new SearchIndex(file, purpose, [...kinds.keys()]);
  const fault = (error: unknown, actor?: ActorId): void => {
    try {
      onFault?.(error, actor);
    } catch {
      // A listener that throws must not cause further faults.
    }
  };
  const follower = new Follower({ engine, index, kinds, clock, fault });
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= follower.close().finally(() => index.close()));
  return {
    async search(query, searchOptions) {
      if (closed) throw new PacketError("cancelled", "The search index has been closed: open it again.");
      const read = readQuery(query);
      const limit = boundedInteger("limit", searchOptions.limit ?? DEFAULT_HITS, 1, MAX_HITS);
      const chars = boundedInteger("snippetChars", searchOptions.snippetChars ?? DEFAULT_SNIPPET_CHARS, 20, 2_000);
      const times = timesOf(searchOptions);
      const { finder } = index;
      if (finder === undefined) throw unavailable();
      try {
        const { owner, everyone, kind, actor } = searchOptions;
        const found = finder.find({
          match: read.match,
          terms: read.terms,
          owner,
          limit,
          ...times,
          ...omitUndefined({ everyone, kind, actor }),
        });
        return hitsOf(found, read, kinds, chars);
      } catch (error) {
        fault(error);
        if (isDamage(error)) follower.rebuild();
        throw unavailable(error);
      }
    },
    caughtUp: (actor, seq = 1, withinMs = DEFAULT_WAIT_MS) => follower.caughtUp(actor, seq, withinMs),
    async rebuild(actor) {
      follower.rebuild(actor);
      await follower.caughtUp(undefined, 0, undefined);
    },
    get lag() {
      return follower.lag;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const unavailable = (cause?: unknown): PacketError =>
  new PacketError(
    "persistence_failed",
    "The search index cannot be read now, and is made anew where it is damaged: ask again in a while.",
    {},
    { cause },
  );

const invalidField = (field: string, message: string): PacketError =>
  new PacketError("validation_failed", message, { issues: [{ path: `/${field}`, message }] });

function boundedInteger(field: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalidField(field, `${field} is ${value}: give a whole number from ${least} to ${most}.`);
}

function timesOf({ after, before }: TimeRange): TimeRange {
  for (const [field, value] of Object.entries({ after, before }))
    if (value !== undefined && !Number.isSafeInteger(value))
      throw invalidField(field, `${field} is no time: give milliseconds since 1970.`);
  return omitUndefined({ after, before });
}

function hitsOf(found: readonly FoundEvent[], { terms }: Query, kinds: ReadonlyMap<string, IndexedKind>, chars: number): readonly Hit[] {
  const best = found[0]?.rank ?? 0;
  return found.map(({ actor, seq, event, at, text, rank }) => {
    const { field, snippet } = snippetOf(splitFields(text), terms, chars);
    const name = kinds.get(splitActorId(actor)[0])?.fields.name(field) ?? "";
    return { actor, seq, event, at, field: name, snippet, score: best === 0 ? 1 : rank / best };
  });
}

/** A parsed query: the expression for SQLite's FTS5, and the terms for snippets. */
interface Query {
  readonly match: string;
  readonly terms: readonly SearchTerm[];
}

/** Throws `PacketError` (`validation_failed`), which says what to write instead. */
function readQuery(query: string): Query {
  try {
    const terms = searchTerms(query);
    return { match: `{text} : (${ftsQuery(terms)})`, terms };
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    const { message } = error;
    throw new PacketError("validation_failed", message, { issues: [{ path: "/query", message }] });
  }
}

interface Snippet {
  readonly field: number;
  readonly snippet: string;
}

/** The share of a snippet before the match. */
const SHARE_BEFORE_MATCH = 1 / 4;

/** The field with most of the terms, and its text around the first match, on one line. */
function snippetOf(fields: readonly FieldText[], terms: readonly SearchTerm[], length: number): Snippet {
  let best: { readonly one: FieldText; readonly found: number; readonly at: number } | undefined;
  for (const one of fields) {
    const words = [...placedWords(one.text)];
    const places = terms.map((term) => placeOf(words, term)).filter((place) => place !== undefined);
    if (best === undefined || places.length > best.found)
      best = { one, found: places.length, at: places.length === 0 ? 0 : Math.min(...places) };
  }
  return best === undefined ? { field: -1, snippet: "" } : { field: best.one.field, snippet: around(best.one.text, best.at, length) };
}

function placeOf(words: readonly PlacedWord[], { words: phrase, isPrefix }: SearchTerm): number | undefined {
  const last = phrase.length - 1;
  for (let start = 0; start + last < words.length; start += 1)
    if (phrase.every((word, n) => fits(words[start + n]?.text ?? "", word, isPrefix && n === last))) return words[start]?.at;
  return undefined;
}

const fits = (word: string, expected: string, prefix: boolean): boolean => (prefix ? word.startsWith(expected) : word === expected);

function around(text: string, at: number, length: number): string {
  let start = Math.max(0, Math.min(at - Math.floor(length * SHARE_BEFORE_MATCH), text.length - length));
  if (start > 0) {
    // Starts at a word boundary, and never within a character.
    const space = text.slice(start, at).search(/\s/u);
    start = space >= 0 ? start + space : at;
  }
  const end = cutText(text.slice(start), length);
  const cutOff = start + end.length < text.length;
  return `${start > 0 ? "…" : ""}${end.replace(/\s+/gu, " ").trim()}${cutOff ? "…" : ""}`;
}
