// Owns: what turns and states mean for the indexes of an engine: the rows that a turn changes, and the row of a stored state. Does not own:
// where rows are stored (stores, and hosts/restate), queries (contract/index-rows.ts).
import {
  type ActorId,
  type Behaviour,
  type Index,
  type IndexChange,
  type IndexedRow,
  type IndexShape,
  isJsonObject,
  type Json,
  TroupeError,
  type Viewer,
} from "../contract/index.ts";
import { getOwn, indexedColumns, indexedRow, isSameMember, isVisibleTo, omitUndefined } from "../contract/internal.ts";
import * as faults from "./engine-errors.ts";
import { type Kind, kindFrom } from "./kind.ts";
import { keyOf } from "./messages.ts";
import { upcast, type VersionedState } from "./replay.ts";
import type { Plan } from "./turn.ts";

const UNCHANGED: readonly IndexChange[] = [];

export interface IndexOfKind {
  readonly index: Index;
  readonly kind: Kind;
}

/** What an actor is before a turn. */
interface Before {
  readonly id: ActorId;
  readonly state: Json;
  /** It has begun, and has not stopped. */
  readonly isAlive: boolean;
}

/** The indexes of an engine, by name and kind. */
export class IndexChanges {
  readonly byName: ReadonlyMap<string, IndexOfKind>;
  readonly #byKind: ReadonlyMap<string, readonly Index[]>;
  /** Indexes whose `where` or `visible`, or whose kind's `migrate`, threw: each is reported once. */
  readonly #reported = new Set<string>();
  readonly #fault: (error: unknown) => void;

  /** Throws `NAME_COLLISION`, `UNKNOWN_KIND`. */
  constructor(indexes: readonly Index[], behaviours: readonly Behaviour[], fault: (error: unknown) => void) {
    this.#fault = fault;
    const kinds = new Map(behaviours.map((behaviour) => [behaviour.kind, behaviour]));
    const byName = new Map<string, IndexOfKind>();
    for (const index of indexes) {
      const { name, kind } = index;
      const behaviour = kinds.get(kind);
      if (byName.has(name))
        throw new TroupeError("NAME_COLLISION", `Two indexes are called ${JSON.stringify(name)}: give one of them another \`name\`.`);
      if (behaviour === undefined) throw faults.unknownKind(kind);
      byName.set(name, { index, kind: kindFrom(behaviour) });
    }
    this.byName = byName;
    this.#byKind = Map.groupBy(indexes, ({ kind }) => kind);
  }

  /** What a turn changes, before it is applied. Undefined: the kind has no indexes. */
  changesOf(kind: string, { id, state, isAlive }: Before, plan: Pick<Plan, "state" | "stop">): readonly IndexChange[] | undefined {
    const indexes = this.#byKind.get(kind);
    if (indexes === undefined) return undefined;
    // Whatever its rows were made of: an actor that could not be loaded can still be stopped.
    if (plan.stop !== undefined) return indexes.map((index) => removal(index, state));
    const before = isAlive ? state : undefined;
    if (before === plan.state) return UNCHANGED;
    let changes: IndexChange[] | undefined;
    const key = keyOf(id);
    for (const index of indexes) {
      const change = before === undefined ? this.#added(index, key, plan.state) : this.#change(index, key, before, plan.state);
      if (change !== undefined) (changes ??= []).push(change);
    }
    return changes ?? UNCHANGED;
  }

  /** The row of a stored state in each index of its kind. */
  rowsOf(kind: string, id: ActorId, stored: VersionedState): readonly { readonly index: string; readonly row: IndexedRow | undefined }[] {
    return (this.#byKind.get(kind) ?? []).map(({ name }) => ({ index: name, row: this.rowOf(name, id, stored) }));
  }

  /** The row of a stored state, through `migrate` where needed. */
  rowOf(name: string, id: ActorId, stored: VersionedState): IndexedRow | undefined {
    const of = this.byName.get(name);
    if (of === undefined) return undefined;
    const { state, failure } = upcast(of.kind, id, stored);
    if (failure === undefined) return this.#row(of.index, state, keyOf(id));
    // Nothing else may tell: the actor itself fails only when it is used.
    this.reportOnce(of.index, failure);
    return undefined;
  }

  /** Whether a viewer may see any row. */
  isVisible(index: Index, viewer: Viewer): boolean {
    try {
      return isVisibleTo(index, viewer);
    } catch (error) {
      this.reportOnce(index, error);
      return false;
    }
  }

  reportOnce({ name }: Pick<Index, "name">, error: unknown): void {
    if (this.#reported.has(name)) return;
    this.#reported.add(name);
    this.#fault(error);
  }

  #added(index: Index, key: string, state: Json): IndexChange | undefined {
    const after = this.#row(index, state, key);
    return after && { index: index.name, after };
  }

  /** States share what a turn does not change, so most turns end here, without a row. */
  #change(index: Index, key: string, before: Json, after: Json): IndexChange | undefined {
    const { name, fields, text } = index;
    const was = this.#includes(index, before, key);
    // Rows have only the beginning of a long text, but all of it is searched.
    const hasSameText = text === undefined || text.every((member) => memberOf(before, member) === memberOf(after, member));
    if (was && hasSameText && fields.every((field) => isSameMember(memberOf(before, field), memberOf(after, field))))
      return this.#includes(index, after, key) ? undefined : removal(index, before);
    const row = this.#row(index, after, key);
    if (!was) return row && { index: name, after: row };
    return row === undefined ? removal(index, before) : { index: name, before: rowBefore(index, before), after: row, hasSameText };
  }

  /** Whether an actor with this state has a row. An actor for which the author's code throws has none. */
  #includes(index: Index, state: Json, key: string): boolean {
    if (!isJsonObject(state)) return false;
    try {
      return index.includes(state, key);
    } catch (error) {
      this.reportOnce(index, error);
      return false;
    }
  }

  #row(index: Index, state: Json, key: string): IndexedRow | undefined {
    return isJsonObject(state) && this.#includes(index, state, key) ? indexedRow(index, state) : undefined;
  }
}

const memberOf = (state: Json, name: string): Json | undefined => (isJsonObject(state) ? getOwn(state, name) : undefined);

/** The change that deletes the row of this state. */
const removal = (index: Index, state: Json): IndexChange => ({ index: index.name, before: rowBefore(index, state) });

const NO_COLUMNS = { columns: [] };

/** Its columns only say who saw the row. */
const rowBefore = ({ fields, visible }: Index, state: Json): NonNullable<IndexChange["before"]> =>
  typeof visible === "object" && isJsonObject(state) ? { columns: indexedColumns(fields, state) } : NO_COLUMNS;

/** What is stored of an index. */
export const indexShape = ({ name, kind, fields, order, text, definition }: IndexShape): IndexShape => ({
  name,
  kind,
  fields,
  definition,
  ...omitUndefined({ order, text }),
});
