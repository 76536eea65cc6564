// Owns: rows of indexes: encoding, order, filters, cursors, checks of queries, and a table of rows in memory. Does not own: SQL
// (core/store), maintaining rows (core/engine).

import { type ActorId, encodedKeyOf, keyIn, kindOf, type Viewer } from "./actor.ts";
import { EngineError } from "./errors.ts";
import type {
  ColumnCondition,
  FoundRow,
  FoundRows,
  Index,
  IndexColumn,
  IndexedRow,
  IndexItem,
  IndexPage,
  IndexQuery,
  IndexShape,
  RowPosition,
  RowQuery,
} from "./indexes.ts";
import { getOwn, isJsonObject, isList, type Json, type JsonObject, setOwn, tryParseJson } from "./json.ts";
import { containedIn, cutText, searchableText, type SearchTerm, searchTerms } from "./search-text.ts";

/** The limits of an index and of its queries. */
export const INDEX_LIMITS = {
  fields: 16,
  filters: 16,
  values: 100,
  page: 1_000,
  defaultPage: 100,
  text: 1_024,
  json: 4_096,
  /** UTF-16 units of an actor's texts that are searched. */
  searched: 32_768,
  cursor: 16_384,
};

// ── rows ────────────────────────────────────────────────────────────────────

/** The row of a state. Long texts are cut, large lists and objects left out, so that one actor cannot fill an index. */
export function indexedRow({ fields, text }: Pick<IndexShape, "fields" | "text">, state: JsonObject): IndexedRow {
  const members: Record<string, Json> = {};
  const columns: IndexColumn[] = [];
  for (const field of fields) {
    const value = bounded(getOwn(state, field));
    columns.push(columnOf(value));
    if (value !== undefined) setOwn(members, field, value);
  }
  const data = JSON.stringify(members);
  if (text === undefined) return { data, columns };
  return {
    data,
    columns,
    // Read only where it may have changed.
    get text() {
      return searchedText(text, state);
    },
  };
}

/** The columns of a row, without its data. */
export const indexedColumns = (fields: readonly string[], state: JsonObject): readonly IndexColumn[] =>
  fields.map((field) => columnOf(bounded(getOwn(state, field))));

/** Whether a member has the same value in two rows. */
export function isSameMember(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  const [left, right] = [bounded(one), bounded(other)];
  return left === right || (typeof left === "object" && typeof right === "object" && JSON.stringify(left) === JSON.stringify(right));
}

function searchedText(names: readonly string[], state: Json): string {
  const texts: string[] = [];
  let left = INDEX_LIMITS.searched;
  for (const name of names) {
    const value = isJsonObject(state) ? getOwn(state, name) : undefined;
    for (const one of isList(value) ? value : [value]) {
      if (typeof one !== "string" || left <= 0) continue;
      const text = cutText(one, left);
      left -= text.length;
      texts.push(text);
    }
  }
  return searchableText(texts);
}

function bounded(value: Json | undefined): Json | undefined {
  if (typeof value === "string") return value.length <= INDEX_LIMITS.text && value.isWellFormed() ? value : shortened(value);
  if (typeof value !== "object" || value === null) return value;
  return JSON.stringify(value).length <= INDEX_LIMITS.json ? value : undefined;
}

const shortened = (text: string): string => cutText(text, INDEX_LIMITS.text).toWellFormed();

function columnOf(value: Json | undefined): IndexColumn {
  if (typeof value === "boolean") return value ? 1 : 0;
  // SQLite has no negative zero.
  if (typeof value === "number") return value + 0;
  return typeof value === "string" ? value : null;
}

// ── order ───────────────────────────────────────────────────────────────────

const rank = (value: IndexColumn): number => (value === null ? 2 : typeof value === "string" ? 1 : 0);

/** Numbers, then texts, then null. */
function compareColumns(one: IndexColumn, other: IndexColumn): number {
  if (one === other) return 0;
  if (typeof one === "number" && typeof other === "number") return one - other;
  return typeof one === "string" && typeof other === "string" ? compareTexts(one, other) : rank(one) - rank(other);
}

/** By code points, as SQLite compares UTF-8: in UTF-16 a surrogate is less than some characters that it should follow. */
function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [left, right] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (left !== right) return isSurrogate(left) === isSurrogate(right) ? left - right : isSurrogate(left) ? 1 : -1;
  }
  return one.length - other.length;
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

// Keys are ASCII.
export const comparePositions = (one: RowPosition, other: RowPosition): number =>
  compareColumns(one.value, other.value) || (one.key < other.key ? -1 : one.key > other.key ? 1 : 0);

// ── queries ─────────────────────────────────────────────────────────────────

/** Whether a viewer may see any row of an index. Throws what the author's `visible` throws. */
export function isVisibleTo({ visible }: Pick<Index, "visible">, viewer: Viewer): boolean {
  if (typeof visible !== "function") return true;
  // Plain JavaScript may return a promise, which must not count as true.
  const answer: unknown = visible({ viewer });
  return answer === true;
}

const bad = (message: string): EngineError => new EngineError("BAD_QUERY", message);

/** The column with the principal that sees a row. Undefined: the index has another rule. */
export const principalColumn = ({ fields, visible }: Pick<Index, "fields" | "visible">): number | undefined =>
  typeof visible === "object" ? fields.indexOf(visible.principal) : undefined;

/** Checks a query, which may come from a client, and limits it to the rows that its viewer may see. Throws `BAD_QUERY`. */
export function rowQuery(shape: IndexShape & Pick<Index, "visible">, query: IndexQuery<object>): RowQuery {
  const { order = "asc", limit = INDEX_LIMITS.defaultPage, cursor, count = false, viewer, where = {}, text } = query;
  if (order !== "asc" && order !== "desc") throw bad('`order` is "asc" or "desc".');
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > INDEX_LIMITS.page)
    throw bad(`\`limit\` is a whole number from 1 to ${INDEX_LIMITS.page}.`);
  if (typeof count !== "boolean") throw bad("`count` is true or false.");
  const descending = order === "desc";
  const { self, principal } = viewer ?? {};
  const column = viewer === undefined ? undefined : principalColumn(shape);
  const own: readonly ColumnCondition[] = column === undefined ? [] : [{ column, in: principal === undefined ? [] : [principal] }];
  const key = self !== undefined && kindOf(self) === shape.kind ? encodedKeyOf(self) : undefined;
  return {
    conditions: [...own, ...conditionsOf(shape, where)],
    ...(text === undefined ? {} : { terms: termsOf(shape, text) }),
    descending,
    limit,
    count,
    ...(cursor === undefined ? {} : { after: positionIn(shape, descending, cursor) }),
    ...(shape.visible === "owner" && viewer !== undefined ? { owner: { principal, key } } : {}),
  };
}

function conditionsOf({ fields, name }: IndexShape, where: unknown): readonly ColumnCondition[] {
  if (!isJsonObject(where)) throw bad("`where` is an object of conditions by field.");
  const conditions = Object.entries(where).filter(([, condition]) => condition !== undefined);
  if (conditions.length > INDEX_LIMITS.filters) throw bad(`A query has at most ${INDEX_LIMITS.filters} conditions.`);
  return conditions.map(([field, condition]) => {
    const column = fields.indexOf(field);
    if (column === -1)
      throw bad(`The index ${name} has no field ${JSON.stringify(field.slice(0, 64))}. Its fields are ${fields.join(", ")}.`);
    return conditionOn(column, field, condition);
  });
}

function termsOf({ name, text }: IndexShape, wanted: unknown): readonly SearchTerm[] {
  if (text === undefined)
    throw bad(`The index ${name} has no full text: filter its fields with \`where\`, or name members of the state in its \`text\`.`);
  if (typeof wanted !== "string") throw bad('`text` is a string: words, "phrases" and prefixes* to look for.');
  return searchTerms(wanted);
}

const isComparable = (value: Json | undefined): value is string | number | boolean | null =>
  value === null || typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));

const isBound = (value: Json | undefined): value is string | number | undefined =>
  value === undefined || typeof value === "string" || (typeof value === "number" && Number.isFinite(value));

function conditionOn(column: number, field: string, condition: Json): ColumnCondition {
  if (isComparable(condition)) return { column, in: [comparable(field, condition)] };
  if (isJsonObject(condition)) {
    const names = Object.keys(condition);
    const { in: values, prefix, gte, lte } = condition;
    if (names.length === 1 && isList(values) && values.length <= INDEX_LIMITS.values && values.every(isComparable))
      return { column, in: values.map((value) => comparable(field, value)) };
    if (names.length === 1 && typeof prefix === "string") return { column, prefix: checkedText(field, prefix) };
    const isRange = names.length > 0 && names.every((name) => name === "gte" || name === "lte");
    const isOfOneType = gte === undefined || lte === undefined || typeof gte === typeof lte;
    if (isRange && isOfOneType && isBound(gte) && isBound(lte) && (gte ?? lte) !== undefined)
      return { column, gte: boundOf(field, gte), lte: boundOf(field, lte) };
  }
  throw bad(
    `The condition on ${field} is a value, { in: at most ${INDEX_LIMITS.values} values }, { gte, lte } of two numbers or two texts, or { prefix: text }.`,
  );
}

const comparable = (field: string, value: string | number | boolean | null): IndexColumn =>
  typeof value === "string" ? checkedText(field, value) : columnOf(value);

const boundOf = (field: string, bound: string | number | undefined): string | number | undefined =>
  typeof bound === "string" ? checkedText(field, bound) : bound;

function checkedText(field: string, text: string): string {
  if (text.length > INDEX_LIMITS.text || !text.isWellFormed())
    throw bad(`A condition on ${field} has at most ${INDEX_LIMITS.text} characters, all of them whole.`);
  return text;
}

// ── cursors ─────────────────────────────────────────────────────────────────

// They contain only what the client has seen: the last row's value and key.
const cursorOf = ({ name }: Pick<IndexShape, "name">, descending: boolean, { value, key }: RowPosition): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify([name, descending ? "desc" : "asc", value, key]))))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/u, "");

function positionIn({ name, kind }: IndexShape, descending: boolean, cursor: unknown): RowPosition {
  const [of, order, value, key] = partsOf(cursor);
  const isValue = value === null || typeof value === "string" || typeof value === "number";
  if (
    of !== name ||
    order !== (descending ? "desc" : "asc") ||
    !isValue ||
    typeof key !== "string" ||
    keyIn(`${kind}/${key}`) === undefined
  )
    throw bad("This cursor belongs to no page of this query: pass `next` of the previous page, with the same order, or no cursor.");
  return { value, key };
}

function partsOf(cursor: unknown): readonly Json[] {
  if (typeof cursor !== "string" || cursor.length > INDEX_LIMITS.cursor || !/^[\w-]+$/u.test(cursor)) return [];
  try {
    const bytes = Uint8Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (unit) => unit.charCodeAt(0));
    const parts = tryParseJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isList(parts) && parts.length === 4 ? parts : [];
  } catch {
    return [];
  }
}

/** The page of these rows, of which one more than `limit` were requested. */
export function indexPage<R extends object>(shape: Pick<IndexShape, "name" | "kind">, query: RowQuery, found: FoundRows): IndexPage<R> {
  const rows = found.rows.slice(0, query.limit);
  const last = found.rows.length > query.limit ? rows.at(-1) : undefined;
  return {
    items: rows.map(({ key, data }): IndexItem<R> => {
      const picked: R = JSON.parse(data);
      const id: ActorId = `${shape.kind}/${key}`;
      return { ...picked, id, key: keyIn(id) ?? key };
    }),
    ...(last === undefined ? {} : { next: cursorOf(shape, query.descending, last) }),
    ...(found.count === undefined ? {} : { count: found.count }),
  };
}

/** What two lists of rows that share no actor answer together. */
export function mergedRows({ descending, limit }: Pick<RowQuery, "descending" | "limit">, one: FoundRows, other: FoundRows): FoundRows {
  const sign = descending ? -1 : 1;
  const rows = [...one.rows, ...other.rows].toSorted((left, right) => sign * comparePositions(left, right)).slice(0, limit);
  return one.count === undefined ? { rows } : { rows, count: one.count + (other.count ?? 0) };
}

// ── rows in memory ──────────────────────────────────────────────────────────

interface MemoryRow extends FoundRow, IndexedRow {
  readonly owner: string | undefined;
}

/** The rows of one index, in its order. */
export class MemoryRows {
  readonly #order: number;
  readonly #byKey = new Map<string, MemoryRow>();
  #sorted: MemoryRow[] = [];

  constructor({ fields, order }: Pick<IndexShape, "fields" | "order">) {
    this.#order = order === undefined ? -1 : fields.indexOf(order);
  }

  get size(): number {
    return this.#byKey.size;
  }

  keys(): IterableIterator<string> {
    return this.#byKey.keys();
  }

  get(key: string): (IndexedRow & { readonly owner: string | undefined }) | undefined {
    return this.#byKey.get(key);
  }

  /** Undefined deletes the row. */
  set(key: string, row: IndexedRow | undefined, owner: string | undefined): void {
    const known = this.#byKey.get(key);
    if (known !== undefined) this.#sorted.splice(this.#place(known), 1);
    this.#byKey.delete(key);
    if (row === undefined) return;
    const added: MemoryRow = { ...row, key, owner, value: row.columns[this.#order] ?? null };
    this.#byKey.set(key, added);
    this.#sorted.splice(this.#place(added), 0, added);
  }

  clear(): void {
    this.#byKey.clear();
    this.#sorted = [];
  }

  query({ conditions, terms = [], descending, limit, after, owner, count }: RowQuery): FoundRows {
    const contained = terms.map(containedIn);
    const matches = (row: MemoryRow): boolean =>
      (owner === undefined || (row.owner !== undefined && row.owner === owner.principal) || row.key === owner.key) &&
      conditions.every((condition) => satisfies(row.columns[condition.column] ?? null, condition)) &&
      contained.every((words) => row.text?.includes(words));
    const rows: FoundRow[] = [];
    const step = descending ? -1 : 1;
    const first = descending ? this.#sorted.length - 1 : 0;
    const start = after === undefined ? first : descending ? this.#place(after) - 1 : this.#placeBehind(after);
    for (let at = start; rows.length < limit; at += step) {
      const row = this.#sorted[at];
      if (row === undefined) break;
      if (matches(row)) rows.push({ key: row.key, data: row.data, value: row.value });
    }
    return count ? { rows, count: this.#sorted.filter(matches).length } : { rows };
  }

  #placeBehind(position: RowPosition): number {
    const place = this.#place(position);
    const found = this.#sorted[place];
    return found !== undefined && comparePositions(found, position) === 0 ? place + 1 : place;
  }

  /** Where a row of that position is, or would be. */
  #place(position: RowPosition): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const row = this.#sorted[middle];
      if (row !== undefined && comparePositions(row, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function satisfies(value: IndexColumn, condition: ColumnCondition): boolean {
  if ("in" in condition) return condition.in.includes(value);
  if ("prefix" in condition) return typeof value === "string" && value.startsWith(condition.prefix);
  const { gte, lte } = condition;
  return (
    value !== null &&
    typeof value === typeof (gte ?? lte) &&
    (gte === undefined || compareColumns(value, gte) >= 0) &&
    (lte === undefined || compareColumns(value, lte) <= 0)
  );
}
