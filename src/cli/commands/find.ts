// Owns: `troupe find`: its conditions, and reading an index of a directory or a cluster. Does not own: how a query is answered
// (core/contract).
import { type Command, InvalidArgumentError, Option } from "commander";
import {
  type FoundRows,
  type IndexPage,
  type IndexQuery,
  isJsonObject,
  isList,
  type Json,
  type RowQuery,
  type Store,
  type StoredIndex,
} from "../../core/contract/index.ts";
import { counted, INDEX_LIMITS, indexPage, omitUndefined, rowQuery, tryParseJson } from "../../core/contract/internal.ts";
import { type Target, addTargetOptions, clusterTarget } from "../actor-options.ts";
import { CommandError, EXIT, notFound, usage } from "../command-error.ts";
import { DataDirectory } from "../data-directory.ts";
import { reportsLostLog } from "../lost-log.ts";
import { wholeNumber } from "../option-parsers.ts";
import { output, short, table } from "../output.ts";

export const register = (program: Command): void => {
  addTargetOptions(
    program
      .command("find")
      .description("Find actors by their contents, in an index that a server maintains.")
      .argument("<kind>", "a kind with one index, or the name of an index"),
  )
    .option(
      "--where <condition>",
      "status=open, severity>=2, severity<=4 or title^=disk; repeatable, equal ones are alternatives",
      condition,
    )
    .option("--text <words>", 'words, "phrases" and prefixes* that its texts must have')
    .addOption(new Option("--order <order>", "of the index").choices(["asc", "desc"]).default("asc"))
    .option("--limit <n>", `at most so many, up to ${INDEX_LIMITS.page}`, wholeNumber(1), INDEX_LIMITS.defaultPage)
    .option("--cursor <cursor>", "where the previous page ended")
    .option("--count", "count all that match")
    .option("--as <name>", "only actors that this principal owns")
    .action(find);
};

/** One `--where`. */
interface Condition {
  readonly field: string;
  readonly operator: "=" | "^=" | ">=" | "<=";
  readonly value: Json;
}

const OPERATORS = ["^=", ">=", "<=", "="] as const;

const isBound = (operator: Condition["operator"]): boolean => operator === ">=" || operator === "<=";

/** Whether one query can have both for the same field: alternatives, or the two ends of a range. */
const canCombine = (one: Condition["operator"], other: Condition["operator"]): boolean =>
  one === other ? one === "=" : isBound(one) && isBound(other);

/** Parses `status=open`, `severity>=2` or `title^=disk`. A value is JSON if it parses as such, else text. */
const condition = (text: string, before: readonly Condition[] = []): readonly Condition[] => {
  const match = /^([^=<>^]+)(\^=|>=|<=|=)(.*)$/su.exec(text);
  const operator = OPERATORS.find((one) => one === match?.[2]);
  if (match?.[1] === undefined || operator === undefined)
    throw new InvalidArgumentError("It must be a condition such as status=open, severity>=2 or title^=disk.");
  const field = match[1].trim();
  const other = before.find((one) => one.field === field && !canCombine(one.operator, operator));
  if (other !== undefined)
    throw new InvalidArgumentError(
      `${field} has a condition with ${other.operator} already: remove one of the two. A field can have several =, one >= with one <=, or one ^=.`,
    );
  const given = match[3] ?? "";
  return [...before, { field, operator, value: operator === "^=" ? given : (tryParseJson(given) ?? valueOf(given)) }];
};

const valueOf = (text: string): Json => (text === "null" ? null : text);

/** The conditions as a query. Several `=` on one field are alternatives. */
const whereOf = (conditions: readonly Condition[]): Json => {
  const where = new Map<string, Json>();
  for (const { field, operator, value } of conditions) {
    const known = where.get(field);
    const range = isJsonObject(known) && known["in"] === undefined ? known : {};
    const values = isJsonObject(known) && isList(known["in"]) ? known["in"] : [];
    if (operator === "=") where.set(field, { in: [...values, value] });
    else where.set(field, operator === "^=" ? { prefix: value } : { ...range, [operator === ">=" ? "gte" : "lte"]: value });
  }
  return Object.fromEntries(where);
};

interface FindOptions extends Target {
  readonly where?: readonly Condition[];
  readonly text?: string;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly cursor?: string;
  readonly count?: boolean;
  readonly as?: string;
}

/** Reads indexes of a data directory or a cluster. */
interface IndexReader extends AsyncDisposable {
  list(): Promise<readonly StoredIndex[]>;
  query(index: StoredIndex, query: RowQuery): Promise<FoundRows | undefined>;
}

export const openIndexes = async (options: Target): Promise<IndexReader> => {
  const cluster = clusterTarget(options);
  if (cluster !== undefined) {
    const operator = await (await import("../cluster-operator.ts")).openOperator(cluster);
    return {
      list: () => operator.indexes(),
      query: (index, query) => operator.rows(index, query),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const store = await storeIn(options.data);
  return {
    list: async () => (await store.indexes?.list()) ?? [],
    query: async ({ name }, query) => store.indexes?.query(name, query),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
};

const storeIn = async (data: string): Promise<Store> => {
  const directory = new DataDirectory(data);
  directory.requireActors();
  // Imported only here: other commands need no store.
  const { sqliteStore } = await import("../../core/store/index.ts");
  return sqliteStore({ directory: directory.path, readOnly: true, ...reportsLostLog });
};

/** Finds an index by its name, or by a kind that has only one. */
const named = (indexes: readonly StoredIndex[], wanted: string): StoredIndex => {
  const byName = indexes.find(({ name }) => name === wanted);
  const ofKind = indexes.filter(({ kind }) => kind === wanted);
  const [only] = ofKind;
  if (byName !== undefined) return byName;
  if (ofKind.length > 1) throw usage(`${wanted} has several indexes: name one of ${ofKind.map(({ name }) => name).join(", ")}.`);
  if (only === undefined) {
    const names = indexes.map(({ name }) => name).join(", ");
    throw notFound(`There is no index of ${wanted}${names === "" ? "" : `, only ${names}`}. A server makes those that its modules export.`);
  }
  return only;
};

const noActors = (as: string | undefined, { fields }: StoredIndex): string =>
  as === undefined
    ? "No actors."
    : `No actors that ${as} owns. To find others, filter by a member instead: --where <member>=${as}, where the member is one of ${fields.join(", ")}.`;

const find = async (wanted: string, { data, engine, secretFile, json = false, where = [], as, ...rest }: FindOptions): Promise<void> => {
  await using reader = await openIndexes({ data, ...omitUndefined({ engine, secretFile }) });
  const index = named(await reader.list(), wanted);
  const query: IndexQuery = JSON.parse(JSON.stringify({ ...rest, where: whereOf(where) }));
  const checked = rowQuery({ ...index, visible: "owner" }, as === undefined ? query : { ...query, viewer: { principal: as, scopes: [] } });
  const found = await reader.query(index, { ...checked, limit: checked.limit + 1 });
  if (found === undefined)
    throw new CommandError(
      EXIT.failed,
      "INDEX_INCOMPLETE",
      `The index ${index.name} is ${index.state}: wait for the server that builds it, or run "troupe index rebuild ${index.name}".`,
    );
  const page: IndexPage = indexPage(index, checked, found);
  const out = output({ json });
  for (const item of page.items) out.value(item);
  if (json && (page.next !== undefined || page.count !== undefined)) out.value(omitUndefined({ next: page.next, count: page.count }));
  out.text(() =>
    page.items.length === 0
      ? noActors(as, index)
      : table(
          ["actor", ...index.fields],
          page.items.map((item) => [item.id, ...index.fields.map((field) => cell(item[field]))]),
        ),
  );
  if (page.count !== undefined) out.text(() => `${counted(page.count ?? 0, "actor")} in all.`);
  if (page.next !== undefined) out.note(`There are more: --cursor ${page.next}`);
};

export const cell = (value: Json | undefined): string => (value === undefined ? "" : typeof value === "string" ? value : short(value));
