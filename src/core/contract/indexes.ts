// Owns: the interface of indexes over the contents of actors, as engines, stores and sources see it: definitions, queries, rows.
// Does not own: how an author defines one (core/actor), the order and filters of rows (index-rows.ts), where rows are stored
// (core/store).

import type { ActorId, Viewer } from "./actor.ts";
import type { JsonObject, Json } from "./json.ts";
import type { SearchTerm } from "./search-text.ts";
import type { Stored } from "./store.ts";

/** A value that a filter compares with. */
export type IndexValue = string | number | boolean | null;

/** The values of a field that filters accept; an absent member of the state counts as null. */
type ComparableOf<V> = Extract<V, IndexValue> | (undefined extends V ? null : never);

type RangeOf<V> = [V] extends [never] ? never : { readonly gte?: V; readonly lte?: V };
type PrefixOf<V> = [V] extends [never] ? never : { readonly prefix: string };
type ConditionOf<V> = [V] extends [never]
  ? never
  : V | { readonly in: readonly V[] } | RangeOf<Extract<V, string | number>> | PrefixOf<Extract<V, string>>;

/**
 * A condition on one field: the value it equals, `{ in: […] }` (one of these), `{ gte, lte }` (a range of numbers or texts) or
 * `{ prefix }` (of a text). Lists and objects cannot be filtered.
 */
export type IndexFilter<V = Json> = ConditionOf<ComparableOf<V>>;

/** Which rows of an index to return. */
export interface IndexQuery<R = JsonObject> {
  /** Conditions by field, all of which must hold. At most 16. */
  readonly where?: { readonly [N in keyof R]?: IndexFilter<R[N]> };
  /**
   * Words and "phrases", all of which the actor's texts must have; `word*` for how a word begins. Only of an index with `text`. At most 512
   * characters.
   */
  readonly text?: string;
  /** Of the index's order. Default "asc": numbers, then texts, then what has no value. */
  readonly order?: "asc" | "desc";
  /** At most 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the previous page, with the same order. */
  readonly cursor?: string;
  /** Also count all rows that match, whatever the page. */
  readonly count?: boolean;
  /** Only what this viewer may see. Absent: everything, for code that is trusted. */
  readonly viewer?: Viewer;
}

/** One actor in a page of an index. */
export type IndexItem<R = JsonObject> = R & {
  readonly id: ActorId;
  /** Decoded. */
  readonly key: string;
};

/** A page of a query's results. */
export interface IndexPage<R = JsonObject> {
  readonly items: readonly IndexItem<R>[];
  /** The cursor of the next page. Absent: there are no more rows. */
  readonly next?: string;
  /** Absent unless requested. */
  readonly count?: number;
}

/** What watchers of an index receive: whose row changed, never the row. */
export interface IndexEvent {
  readonly id: ActorId;
  /** The principal that owns the actor. */
  readonly owner?: string;
  /** Of an index that is visible to the principal in a member: those in the row before and after. */
  readonly principals?: readonly string[];
}

/**
 * Who sees the rows of an index: everyone; the principal that owns the actor; the principal in a picked member; or viewers for whom a
 * function returns true.
 */
export type IndexVisibility<F extends string = string> =
  | "everyone"
  | "owner"
  | { readonly principal: F }
  | ((context: { readonly viewer: Viewer }) => boolean);

/** What a store needs to know of an index. */
export interface IndexShape {
  /** `[a-z][a-z0-9-]{0,63}`, unique in an engine. */
  readonly name: string;
  readonly kind: string;
  /** At most 16 names of members of the state. */
  readonly fields: readonly string[];
  /** One of `fields`. Absent: the order of keys. */
  readonly order?: string;
  /** The members of the state whose words are searched. Absent: there is no full text. */
  readonly text?: readonly string[];
  /** Changes whenever rows may differ: an index with another definition is rebuilt. */
  readonly definition: string;
}

/** An index over the actors of one kind: a pure function of their states. `index()` makes one. */
export interface Index<R extends object = object> extends IndexShape {
  readonly visible: IndexVisibility;
  /** Where clients read it. Absent: it is no resource. */
  readonly uri?: string;
  /** The name of its tool. Absent: it has none. */
  readonly tool?: string;
  readonly title?: string;
  readonly description?: string;
  /** Whether an actor with this state is in the index. Throws what the author's `where` throws. */
  includes(state: JsonObject, key: string): boolean;
  /** Never there: the type of the picked members, for queries. */
  readonly row?: R;
}

/** A field as it is compared: booleans are 0 and 1; null stands for absent members, lists and objects. */
export type IndexColumn = string | number | null;

/** A row as it is stored. */
export interface IndexedRow {
  /** JSON text of an object with the picked members. */
  readonly data: string;
  /** The same members in the order of the index's fields. */
  readonly columns: readonly IndexColumn[];
  /** The words of the index's texts, separated by spaces. Absent: it has none. */
  readonly text?: string | undefined;
}

/** What a turn changes in one index. Absent sides: the actor was not in it, or no longer is. */
export interface IndexChange {
  readonly index: string;
  /** Says who saw the row, where the index is visible to a principal in one of its columns. */
  readonly before?: Pick<IndexedRow, "columns"> | undefined;
  readonly after?: IndexedRow | undefined;
  /** With both: the text stays the same. */
  readonly hasSameText?: boolean;
}

/** One condition, on a column by its number. */
export type ColumnCondition =
  | { readonly column: number; readonly in: readonly IndexColumn[] }
  | { readonly column: number; readonly gte: string | number | undefined; readonly lte: string | number | undefined }
  | { readonly column: number; readonly prefix: string };

/** A checked query. */
export interface RowQuery {
  readonly conditions: readonly ColumnCondition[];
  /** What the text must contain. */
  readonly terms?: readonly SearchTerm[];
  readonly descending: boolean;
  readonly limit: number;
  readonly after?: RowPosition;
  /** Only rows of this principal, or of the actor with this key as ids encode it. */
  readonly owner?: { readonly principal?: string | undefined; readonly key?: string | undefined };
  readonly count: boolean;
}

/** A row's place in the order of its index: by value, then by key. */
export interface RowPosition {
  /** Null in an index without an order. */
  readonly value: IndexColumn;
  /** As ids encode it. */
  readonly key: string;
}

export interface FoundRow extends RowPosition {
  readonly data: string;
}

/** What a store found in an index. */
export interface FoundRows {
  /** At most `limit`. */
  readonly rows: readonly FoundRow[];
  readonly count?: number;
}

/** `building`: its rows are incomplete. `stale`: something wrote to some actors of its kind without maintaining it. */
export type IndexState = "complete" | "building" | "stale";

/** An index as a store has it. */
export interface StoredIndex extends IndexShape {
  readonly state: IndexState;
  readonly rows: number;
}

/** Computes the row of a stored actor. Synchronous, and throws nothing: it runs in the store's transaction. */
export type RowOf = (id: ActorId, stored: Stored) => IndexedRow | undefined;

/** A page of actors, those without a row included. */
export interface IndexedActors {
  readonly actors: number;
  /** Where the next page begins. Absent: this was the last. */
  readonly next?: ActorId;
}

/** How the row of an actor differs from what its state says. */
export interface IndexFlaw {
  readonly id: ActorId;
  readonly flaw: "missing" | "different" | "unexpected";
}

/** The part of a store that has indexes. Throws `StoreError` only. */
export interface IndexStore {
  /** Accepts changes to this index from now on, with commits. Returns whether it is complete; otherwise it has to be built. */
  declare(shape: IndexShape): Promise<boolean>;
  /**
   * Replaces the rows of at most `limit` actors, each computed and written at one moment. Without `after` it begins anew, with no rows;
   * the last page makes the index complete.
   */
  build(name: string, rowOf: RowOf, limit: number, after?: ActorId): Promise<IndexedActors>;
  /**
   * Replaces the rows of at most `limit` of the actors that made the index stale. Returns how many of them are left; with none, the index is
   * complete. Undefined: it is not stale, so it is complete or has to be built.
   */
  repair(name: string, rowOf: RowOf, limit: number): Promise<number | undefined>;
  /** Compares at most `limit` actors with their rows. */
  verify(name: string, rowOf: RowOf, limit: number, after?: ActorId): Promise<IndexedActors & { readonly flaws: readonly IndexFlaw[] }>;
  /** Undefined: there is no complete index of that name. */
  query(name: string, query: RowQuery): Promise<FoundRows | undefined>;
  list(): Promise<readonly StoredIndex[]>;
  /** Deletes an index. False: there is none of that name. */
  drop(name: string): Promise<boolean>;
}

/** How far the build of an index is. */
export interface IndexProgress {
  readonly index: string;
  /** Actors whose rows were computed. */
  readonly actors: number;
  /** Actors of the kind. */
  readonly of: number;
  readonly isDone: boolean;
}

/** The result of comparing an index with the states of its actors. */
export interface IndexVerdict {
  readonly index: string;
  readonly actors: number;
  /** How many rows differ from what the states say. */
  readonly flawed: number;
  /** The first 100 of them. */
  readonly flaws: readonly IndexFlaw[];
}

/** Operations on the indexes of an engine, by name. Throw `UNKNOWN_INDEX`. */
export interface IndexOperations {
  /** Those of stored actors. */
  list(): Promise<readonly StoredIndex[]>;
  /** Computes all rows again. Returns how many actors there are. */
  rebuild(name: string): Promise<number>;
  verify(name: string): Promise<IndexVerdict>;
}
