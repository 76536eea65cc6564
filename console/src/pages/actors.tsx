// Owns: finding actors, and operations on many of them. Does not own: one actor's page (actor.tsx).
import { useSignal } from "@preact/signals";
import { Link } from "wouter-preact";
import type { Json } from "../../../src/core/contract/index.ts";
import type { ActorPage, ActorRow } from "../../../src/bridges/console/shapes.ts";
import { can } from "../about.ts";
import { asApiError, get } from "../api.ts";
import { useThrottledReload } from "../throttled-reload.ts";
import { useResource } from "../resource.ts";
import { useStream } from "../stream.ts";
import { ActorLink, readable } from "../ui/actor-link.tsx";
import { Badge } from "../ui/badge.tsx";
import { None } from "../ui/none.tsx";
import { Pager, usePages } from "../ui/pager.tsx";
import { useSelection } from "../ui/selection.ts";
import { Empty, Loaded } from "../ui/states.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { toast } from "../ui/toasts.tsx";
import { counted, Time } from "../ui/time.tsx";
import { BatchBar, MOST_AT_ONCE } from "./actors/batch-bar.tsx";
import { OpenActor, SharedActors } from "./actors/open-actor.tsx";
import { FilterBar, useFilters } from "./actors/filters.tsx";
import "./actors/actors.css";

const SIZE = 100;
const MOST_PER_REQUEST = 1_000;
/** A list by an index is loaded anew when one of its actors changes: not more often than it can be read. */
const REFRESH_MS = 2_000;

export function Actors() {
  const pages = usePages();
  const selection = useSelection();
  const filters = useFilters(pages.reset);
  const { query, index, isFiltered, clear } = filters;
  const { after } = pages;
  const list = useResource<ActorPage>(JSON.stringify([query, after]), (signal) => get("/actors", { ...query, after, limit: SIZE }, signal));
  const rows = useFollowed(list.data.value?.items ?? NONE, useThrottledReload(list, REFRESH_MS));
  const { value: page } = list.data;

  const selectAll = async (): Promise<void> => {
    try {
      let from: string | undefined = "";
      let count = 0;
      while (from !== undefined && count < MOST_AT_ONCE) {
        const limit = Math.min(MOST_PER_REQUEST, MOST_AT_ONCE - count);
        const more: ActorPage = await get<ActorPage>("/actors", { ...query, after: from, limit });
        selection.setAll(
          more.items.map(({ id }) => id),
          true,
        );
        count += more.items.length;
        from = more.next;
      }
      if (from !== undefined) toast(`The first ${MOST_AT_ONCE.toLocaleString()} are selected: more cannot be changed at once.`);
    } catch (error) {
      toast(asApiError(error).message, "failed");
    }
  };

  const fields = index === undefined ? [] : fieldsIn(rows, index.fields);
  const columns: Column<ActorRow>[] = [
    { head: "Actor", cell: ({ id }) => <ActorLink id={id} /> },
    ...fields.map((name) => ({ head: name, wide: true as const, cell: ({ fields: own }: ActorRow) => <Field value={own?.[name]} /> })),
    { head: index === undefined ? "Status" : "Actor status", cell: ({ status }) => <Badge word={status} /> },
    { head: "Events", cell: ({ seq }) => seq.toLocaleString(), align: "right" },
    ...(rows.some(({ lastAt }) => lastAt !== undefined)
      ? [
          {
            head: "Last activity",
            cell: ({ lastAt }: ActorRow) => (lastAt === undefined ? null : <Time at={lastAt} />),
            wide: true as const,
          },
        ]
      : []),
  ];
  return (
    <>
      <h1>Actors</h1>
      <FilterBar filters={filters} />
      <Loaded resource={list} what="actors">
        {({ examined, next, total }) => (
          <>
            {rows.length === 0 ? (
              <Nothing filtered={isFiltered} kind={filters.value("kind")} examined={examined} clear={clear} />
            ) : (
              <div class={list.loading.value ? "loading-anew" : ""} aria-busy={list.loading.value}>
                <Table
                  caption="Actors"
                  rows={rows}
                  keyOf={({ id }) => id}
                  nameOf={({ id }) => readable(id)}
                  {...(can("run") ? { selection } : {})}
                  columns={columns}
                />
              </div>
            )}
            {examined === undefined || next === undefined ? null : (
              <p class="dim">{counted(examined, "actor was", "actors were")} looked through so far: go on with Next.</p>
            )}
            <Pager pages={pages} count={rows.length} next={next} total={total} size={SIZE} />
          </>
        )}
      </Loaded>
      <BatchBar
        selection={selection}
        selectAll={page?.next === undefined && after === "" ? undefined : () => void selectAll()}
        reload={list.reload}
      />
    </>
  );
}

const NONE: readonly ActorRow[] = [];

/** What is known of a change: the time is when it was received. */
type Newer = Pick<ActorRow, "seq" | "status"> & { readonly lastAt: number };

/** The rows, with what has changed since they were loaded. The order stays: nothing moves while it is read. */
function useFollowed(rows: readonly ActorRow[], refresh: () => void): readonly ActorRow[] {
  const newer = useSignal<ReadonlyMap<string, Newer>>(new Map());
  const seen = useSignal(rows);
  if (seen.peek() !== rows) {
    seen.value = rows;
    newer.value = new Map();
  }
  useStream(
    "change",
    ({ items, more }) => {
      const mine = new Set(rows.map(({ id }) => id));
      const changed = items.filter(({ id }) => mine.has(id));
      if (changed.length > 0)
        newer.value = new Map([
          ...newer.value,
          ...changed.map(({ id, seq, status }) => [id, { seq, status, lastAt: Date.now() }] as const),
        ]);
      const hasFields = rows.some(({ fields }) => fields !== undefined);
      if (more > 0 || (hasFields && changed.length > 0)) refresh();
    },
    { missed: refresh },
  );
  return newer.value.size === 0 ? rows : rows.map((row) => updated(row, newer.value.get(row.id)));
}

function updated(row: ActorRow, change: Newer | undefined): ActorRow {
  if (change === undefined) return row;
  const { seq, status, lastAt } = change;
  return { ...row, seq, status, ...(row.lastAt !== undefined && { lastAt }) };
}

function Nothing({
  filtered,
  kind,
  examined,
  clear,
}: {
  readonly filtered: boolean;
  readonly kind: string;
  readonly examined: number | undefined;
  readonly clear: () => void;
}) {
  if (!filtered)
    return (
      <Empty title="No actors yet">
        {can("run") ? (
          <>
            <span>
              An actor begins with the first call. <Link href="/playground">Call a tool in the playground</Link>, or open one here:
            </span>
            <SharedActors />
            <OpenActor />
          </>
        ) : (
          <span>Nothing is recorded here. An actor begins when a client of its server first calls it.</span>
        )}
      </Empty>
    );
  return (
    <Empty title="No actor matches">
      {examined === undefined ? null : <span>{examined.toLocaleString()} were looked through.</span>}
      <span>
        <button type="button" class="small" onClick={clear}>
          Clear the filters
        </button>
      </span>
      {can("run") ? <OpenActor kind={kind} /> : null}
    </Empty>
  );
}

/** Those of the index, in its order, and others that its rows have. */
function fieldsIn(rows: readonly ActorRow[], known: readonly string[]): readonly string[] {
  return [...new Set([...known, ...rows.slice(0, 10).flatMap(({ fields = {} }) => Object.keys(fields))])].slice(0, 12);
}

const SHORT = 80;
/** Longer ones may break into lines, but not after each word. */
const LINE = 12;

function Field({ value }: { readonly value: Json | undefined }) {
  if (value === undefined || value === null) return <None />;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= SHORT ? (
    <span class={text.length > LINE ? "field-text" : ""}>{text}</span>
  ) : (
    <span class="field-text" title={text.slice(0, 1_000)}>
      {text.slice(0, SHORT)}…
    </span>
  );
}
