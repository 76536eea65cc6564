// Owns: what a query found: a table that sorts, one row of it in full, and as CSV and JSON. Does not own: running the query.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { SqlRows } from "../../../../src/bridges/console/shapes.ts";
import type { Json } from "../../../../src/core/contract/index.ts";
import { download, saveFile } from "../../download.ts";
import { ActorLink, EventLink } from "../../ui/actor-link.tsx";
import { copyText } from "../../ui/copy.tsx";
import { Fact, Facts } from "../../ui/facts.tsx";
import { JsonTree } from "../../ui/json-tree.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Empty } from "../../ui/states.tsx";
import { type Column, SortedTable } from "../../ui/table.tsx";
import { duration, Time } from "../../ui/time.tsx";
import { csvOf, uniqueNames } from "./csv.ts";
import "../../ui/lists.css";
import "./query.css";

interface Row {
  readonly n: number;
  readonly values: readonly Json[];
}

export function Result({ result }: { readonly result: SqlRows }) {
  const open = useSignal<number | undefined>(undefined);
  const names = useMemo(() => uniqueNames(result.columns), [result]);
  const rows = useMemo(() => result.rows.map((values, n): Row => ({ n, values })), [result]);
  const row = rows.find(({ n }) => n === open.value);
  const longest = useMemo(() => longestOf(rows), [rows]);
  const columns = useMemo(
    () =>
      names.map((name, at): Column<Row> => {
        const isNumber = rows.some(({ values }) => typeof values[at] === "number") && !isTime(name);
        return {
          head: name,
          ...(isNumber && { align: "right" }),
          ...(at === longest && { fill: true }),
          sort: ({ values }) => sortable(values[at] ?? null),
          cell: ({ values }) => <Cell name={name} value={values[at] ?? null} />,
        };
      }),
    [names, rows, longest],
  );
  const numbered: Column<Row> = {
    head: "Row",
    align: "right",
    cell: ({ n }) => (
      <button
        type="button"
        class="link"
        aria-label={`Row ${n + 1}`}
        aria-expanded={n === open.value}
        onClick={() => (open.value = n === open.value ? undefined : n)}
      >
        {n + 1}
      </button>
    ),
  };
  const csv = (): string => csvOf(names, result.rows);
  return (
    <section class="query-result" aria-label="Result">
      <div class="row">
        <span role="status">
          {rows.length === 1 ? "1 row" : `${rows.length.toLocaleString()} rows`}
          <span class="dim"> in {duration(result.ms)}</span>
          {result.cut === undefined ? null : <strong>. {WHY_CUT[result.cut]}</strong>}
          {result.shortened === undefined ? null : (
            <span class="dim">. {result.shortened.toLocaleString()} long values were shortened</span>
          )}
        </span>
        <span class="grow" />
        {rows.length === 0 ? null : (
          <>
            <button type="button" class="small quiet" onClick={() => void copyText(csv(), "the rows")}>
              Copy
            </button>
            <button type="button" class="small quiet" onClick={() => saveFile("query.csv", csv(), "text/csv")}>
              CSV
            </button>
            <button
              type="button"
              class="small quiet"
              onClick={() =>
                download(
                  "query.json",
                  rows.map(({ values }) => Object.fromEntries(names.map((name, at) => [name, values[at]]))),
                )
              }
            >
              JSON
            </button>
          </>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty title="No rows">The query ran, and nothing meets its conditions.</Empty>
      ) : (
        <div class={row === undefined ? "split" : "split two"}>
          <SortedTable
            caption="Rows"
            rows={rows}
            keyOf={({ n }) => String(n)}
            open={open.value === undefined ? undefined : String(open.value)}
            onOpen={({ n }) => (open.value = n === open.value ? undefined : n)}
            columns={[numbered, ...columns]}
          />
          {row === undefined ? null : (
            <Panel title={`Row ${row.n + 1}`} label="The row in full" onClose={() => (open.value = undefined)}>
              <Facts>
                {names.map((name, at) => (
                  <Fact key={name} name={name}>
                    <Whole name={name} value={row.values[at] ?? null} />
                  </Fact>
                ))}
              </Facts>
            </Panel>
          )}
        </div>
      )}
    </section>
  );
}

const WHY_CUT: Readonly<Record<NonNullable<SqlRows["cut"]>, string>> = {
  rows: "There are more: add conditions, or LIMIT and OFFSET",
  size: "There are more than fit: select fewer columns, or add LIMIT and OFFSET",
};

const textOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

const isTime = (name: string): boolean => name === "at" || name.endsWith("_at");

const sortable = (value: Json): number | string | undefined =>
  value === null ? undefined : typeof value === "number" ? value : textOf(value);

const ACTOR = /^[a-z][\w-]*\/[^\s/"'{}[\]]{1,256}$/i;
const EVENT = /^[0-9a-f]{64}$/;
/** Columns of the views that have actors. */
const ACTORS = new Set(["id", "actor", "receiver", "sender", "parent"]);
const EVENTS = new Set(["id", "head", "cause"]);
const MAX_DATE = 8.64e15;

/** A value in the table: actors and events are links, times are local. Undefined: it is shown as it is. */
function linked(name: string, value: Json) {
  if (typeof value === "string" && ACTORS.has(name) && ACTOR.test(value)) return <ActorLink id={value} />;
  if (typeof value === "string" && EVENTS.has(name) && EVENT.test(value)) return <EventLink id={value} />;
  if (typeof value === "number" && isTime(name) && Math.abs(value) <= MAX_DATE) return <Time at={value} />;
  if (value === null) return <span class="dim">null</span>;
  return undefined;
}

function Cell({ name, value }: { readonly name: string; readonly value: Json }) {
  const text = textOf(value);
  return linked(name, value) ?? <span class={typeof value === "number" ? "" : "query-cell"}>{text.slice(0, MAX_CELL)}</span>;
}

const MAX_CELL = 300;
/** A text that is longer may be cut to what the other columns leave. */
const SHORT = 32;

/** The column with the longest text, if that is long. */
function longestOf(rows: readonly Row[]): number | undefined {
  const [most] = rows
    .flatMap(({ values }) => values.map((value, at) => ({ at, length: textOf(value).length, value })))
    .filter(({ length, value }) => length > SHORT && typeof value !== "number")
    .toSorted((one, other) => other.length - one.length);
  return most?.at;
}

function Whole({ name, value }: { readonly name: string; readonly value: Json }) {
  const known = linked(name, value);
  if (known !== undefined) return known;
  const parsed = typeof value === "string" && /^[[{]/.test(value) ? parsedOf(value) : undefined;
  if (parsed !== undefined) return <JsonTree value={parsed} label={name} />;
  return <span class="query-whole">{textOf(value)}</span>;
}

function parsedOf(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
